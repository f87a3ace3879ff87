"""Tensors of the CPU among the arguments: which are taken, and what is said of the others."""

import re

import pytest
import torch
import torch.nn.functional as F

ITERATOR = "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!"
PLACEHOLDER = "Placeholder storage has not been allocated on MPS device!"
KERNEL = "Passed CPU tensor to MPS op"


def here(*shape):
    return torch.ones(shape)


def there(*shape):
    return torch.ones(shape, device="mps")


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.long)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: there(3) + here(3), ITERATOR),
        (lambda: here(3) + there(3), ITERATOR),
        (lambda: torch.where(here(3) > 0, here(3), there(3)), ITERATOR),
        (lambda: torch.where(there(3) > 0, here(3), there(3)), ITERATOR),
        (lambda: there(3).index_put_((zeros(2),), here(2)), ITERATOR),
        (lambda: there(3).copysign(here(3)), ITERATOR),
        (lambda: F.embedding(zeros(2), there(3, 3)), PLACEHOLDER),
        (lambda: there(3).index_add(0, zeros(1), there(1)), PLACEHOLDER),
        (lambda: torch.bmm(there(1, 2, 2), here(1, 2, 2)), PLACEHOLDER),
        (lambda: there(3).gather(0, zeros(1)), KERNEL),
        (lambda: F.layer_norm(there(2, 3), (3,), here(3)), KERNEL),
        (lambda: torch.cat([there(2), here(2)]), KERNEL),
        (
            lambda: there(2, 2) @ here(2, 2),
            "Tensor for argument #2 'mat2' is on CPU, but expected it to be on GPU (while checking arguments for mm)",
        ),
        (lambda: F.linear(there(2, 2), here(2, 2)), "Tensor for argument weight is on cpu but expected on mps"),
        (lambda: F.linear(here(2, 2), there(2, 2)), "Tensor for argument input is on cpu but expected on mps"),
        (lambda: torch.dot(there(2), here(2)), "Expected all tensors to be on the same device. Found: mps:0, cpu"),
        (lambda: torch.isin(there(2), here(2)), "Expected elements.is_mps() && test_elements.is_mps() to be true"),
        (
            lambda: F.conv2d(there(1, 1, 3, 3), here(1, 1, 2, 2)),
            "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
        ),
        (lambda: F.conv2d(here(1, 1, 3, 3), there(1, 1, 2, 2)), "must be on the same device"),
    ],
)
def test_mixture_is_refused(call, text):
    with pytest.raises(RuntimeError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: there(3) + torch.tensor(2.0),
        lambda: torch.where(there(3) > 0, torch.tensor(1.0), there(3)),
        lambda: there(3)[zeros(2)],
        lambda: there(3).index_put_((zeros(2),), torch.tensor(5.0)),
        lambda: there(3).masked_fill(there(3) > 0, torch.tensor(1.0)),
        lambda: torch._foreach_mul([there(2), there(3)], torch.tensor(2.0)),
    ],
)
def test_scalars_and_indices_of_the_cpu_are_taken(call):
    result = call()
    for tensor in result if isinstance(result, (list, tuple)) else [result]:
        assert tensor.device.type == "mps"
