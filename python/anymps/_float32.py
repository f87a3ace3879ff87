"""anymps.to_float32: a state dict without the types that MPS has not."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

T = TypeVar("T")


class _Converter:
    """Remembers what it converted, so that what was one thing before is one thing after."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._narrower = {torch.float64: torch.float32, torch.complex128: torch.complex64}
        # By id; what it is the id of is held, as another object may get the id of one that is gone.
        self._done: dict[int, tuple[Any, Any]] = {}
        self._storages: dict[int, Any] = {}

    def convert(self, value: Any) -> Any:
        if id(value) in self._done:
            return self._done[id(value)][1]
        if isinstance(value, self._torch.Tensor):
            if value.dtype not in self._narrower:
                return value
            result = self._tensor(value)
        elif isinstance(value, (dict, list)):
            # A copy keeps the type and its attributes: the _metadata of a module's state dict, a default's factory.
            result = copy.copy(value)
            self._done[id(value)] = value, result
            for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
                result[key] = self.convert(item)
        elif isinstance(value, tuple):
            items = [self.convert(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            result = value._make(items) if hasattr(value, "_make") else type(value)(items)
        else:
            return value
        self._done[id(value)] = value, result
        return result

    def _tensor(self, tensor):
        torch = self._torch
        dtype = self._narrower[tensor.dtype]
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
        if not plain or tensor.is_meta or tensor.is_conj() or tensor.is_neg():
            return tensor.detach().to(dtype).requires_grad_(tensor.requires_grad)
        # Tied weights are two tensors of one storage in a state dict, so it is the storage that is converted, whole, as
        # torch.save writes it whole. Both types shrink by half, so offset and strides stay.
        storage = tensor.untyped_storage()
        if storage._cdata not in self._storages:
            row = torch.empty(0, dtype=torch.float64, device=tensor.device).set_(storage)
            self._storages[storage._cdata] = row.to(torch.float32).untyped_storage()
        result = torch.empty(0, dtype=dtype, device=tensor.device).set_(
            self._storages[storage._cdata], tensor.storage_offset(), tensor.shape, tensor.stride()
        )
        if isinstance(tensor, torch.nn.Parameter):
            return torch.nn.Parameter(result, requires_grad=tensor.requires_grad)
        return result.requires_grad_(tensor.requires_grad)


def to_float32(state_dict: T) -> T:
    """The state dict (or any nest of dicts, lists and tuples) with float32 for float64 and complex64 for complex128.

        model.load_state_dict(anymps.to_float32(torch.load("model.pt", map_location="cpu")))

    MPS has neither of the wide types, and a dict has no `.to`. What has another type is passed on as it is, not copied,
    and the argument is not changed. Containers keep their type, their order and their attributes (an OrderedDict its
    `_metadata`); tensors that shared memory share it still.
    """
    return _Converter().convert(state_dict)
