"""Where the time of loading a batch goes: by stage, and for what is none of them, by the function that was called."""

from __future__ import annotations

import re
import sys
import time
from typing import Any

from .frames import UserFrames
from .spec import STAGES


class StageClock:
    """Adds up where the time of loading goes, by the functions that are called meanwhile."""

    _C_STORAGE = ("_io", "io", "posix", "mmap", "_socket", "_ssl", "lmdb", "sqlite3", "h5py", "pyarrow")
    _C_DECODE = ("zlib", "_bz2", "_lzma", "_pickle", "_struct", "_json", "zstandard")
    _CV2_DECODE = ("imread", "imreadmulti", "imdecode", "imdecodemulti")
    _DECODE = ("torchvision.io", "torchaudio", "soundfile", "imageio", "json", "pickle", "gzip")
    # The readers of files; most of numpy.lib and PIL.Image works on what is decoded already.
    _DECODE_OF_NUMPY = ("numpy.lib.npyio", "numpy.lib._npyio", "numpy.lib.format", "numpy.lib._format")
    _DECODE_OF_PIL = re.compile(r"PIL\.(ImageFile|\w+ImagePlugin)$")
    _AUGMENT = ("torchvision.transforms", "albumentations", "kornia", "audiomentations", "skimage", "scipy.ndimage")
    _AUGMENT_OF_PIL = ("PIL.ImageOps", "PIL.ImageEnhance", "PIL.ImageFilter")
    _AUGMENT_BY_IMAGE = ("crop", "filter", "reduce", "resize", "rotate", "thumbnail", "transform", "transpose")
    # Parts of names that the user's own functions may have.
    _WORDS = (
        ("decode", ("decode", "decompress", "imread", "loads", "parse")),
        ("augment", ("augment", "transform", "crop", "flip", "jitter", "normali", "rotate", "resize", "blur", "mixup")),
        ("storage", ("read_bytes", "read_file", "fetch_bytes", "download")),
    )

    def __init__(self, names: dict[str, list[str]]) -> None:
        self._names = {name: stage for stage, listed in names.items() for name in listed}
        self._of_code: dict[Any, str | None] = {}
        self.spent = dict.fromkeys(STAGES, 0)
        # Of "other": what was called, and the user's line that called it.
        self.others: dict[str, int] = {}
        self._frames = UserFrames()
        self._stack: list[str] = []
        self._calls: list[str] = []
        self._last = 0

    def _of_python(self, frame) -> str | None:
        code = frame.f_code
        if code in self._of_code:
            return self._of_code[code]
        module = frame.f_globals.get("__name__", "")
        name = code.co_name
        stage = self._names.get(name)
        if stage is None and ("collate" in name or module.endswith("_utils.collate")):
            stage = "collate"
        if stage is None and (
            module.startswith((*self._AUGMENT, *self._AUGMENT_OF_PIL))
            or (module == "PIL.Image" and name in self._AUGMENT_BY_IMAGE)
        ):
            stage = "augment"
        if stage is None and (
            module.startswith((*self._DECODE, *self._DECODE_OF_NUMPY)) or self._DECODE_OF_PIL.match(module)
        ):
            stage = "decode"
        if stage is None and module and not module.startswith(("torch", "importlib", "encodings", "numpy", "PIL")):
            lowered = name.lower()
            stage = next((stage for stage, words in self._WORDS if any(word in lowered for word in words)), None)
        self._of_code[code] = stage
        return stage

    def _of_builtin(self, function) -> str | None:
        owner = getattr(function, "__self__", None)
        module = getattr(function, "__module__", None) or type(owner).__module__
        if module in self._C_STORAGE or type(owner).__module__ in self._C_STORAGE:
            return "storage"
        if module in self._C_DECODE or type(owner).__module__ in self._C_DECODE:
            return "decode"
        name = getattr(function, "__name__", "")
        if module == "cv2" and name not in self._names:
            return "decode" if name in self._CV2_DECODE else "augment"
        return self._names.get(name)

    def _charge(self) -> None:
        now = time.perf_counter_ns()
        self.spent[self._stack[-1]] += now - self._last
        if self._stack[-1] == "other":
            self.others[self._calls[-1]] = self.others.get(self._calls[-1], 0) + now - self._last
        self._last = now

    def _watch(self, frame, event: str, argument) -> None:
        self._charge()
        if event in ("call", "c_call"):
            inside = self._stack[-1]
            stage = self._of_python(frame) if event == "call" else self._of_builtin(argument)
            # What collating calls is collating, whatever its name.
            self._stack.append(inside if stage is None or inside == "collate" else stage)
            self._calls.append(self._call(frame, event, argument))
        elif len(self._stack) > 1:
            self._stack.pop()
            self._calls.pop()
        self._last = time.perf_counter_ns()

    def _call(self, frame, event: str, argument) -> str:
        """What was called, by its name and the user's line; of calls within libraries, that which led there."""
        code = frame.f_code
        if not self._frames.is_users(code.co_filename):
            return self._calls[-1]
        if event == "c_call":
            module = getattr(argument, "__module__", None) or "builtins"
            name = getattr(argument, "__qualname__", "?")
            return f"{'' if module == 'builtins' else module + '.'}{name}\t{code.co_filename}:{frame.f_lineno}"
        return f"{getattr(code, 'co_qualname', code.co_name)}\t{code.co_filename}:{code.co_firstlineno}"

    def take(self) -> tuple[dict[str, int], dict[str, int]]:
        """What was added up since the last time."""
        taken = self.spent, self.others
        self.spent, self.others = dict.fromkeys(STAGES, 0), {}
        return taken

    def run(self, function, *arguments):
        before = sys.getprofile()
        self._stack = ["other"]
        self._calls = ["\t"]
        self._last = time.perf_counter_ns()
        sys.setprofile(self._watch)
        try:
            return function(*arguments)
        finally:
            sys.setprofile(before)
            self._charge()
