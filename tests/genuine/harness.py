"""What a check of a genuine kernel is, and which function checks which kernels.

A module of families/ declares checkers:

    @checks(r"relu_dense_(?P<out>\\w+)_(?P<type>\\w+)")
    def relu(kernel, match):
        x = ...
        out = torch.empty_like(x, device="mps")
        kernel(out, x.to("mps"), threads=x.numel())
        yield Check("ordinary", out, torch.relu(x))

`kernel` is what torch.mps.load_metallib(...) gives for the name, launched with the arguments, threads and group size of
PyTorch's host code. What a checker draws at random comes from torch's generator, which is seeded by the kernel's name.

Where two releases of PyTorch launch a kernel of one name differently, its checkers say which releases they are for:
`@checks(pattern, since="2.14")`, `@checks(pattern, before="2.14")`. Where the difference is small, a checker asks
`is_since("2.14")`.
"""

import dataclasses
import hashlib
import importlib
import pathlib
import pkgutil
import re
import zlib
from collections.abc import Callable, Iterator

import torch


@dataclasses.dataclass
class Check:
    """One comparison. Without tolerances it is to the bit, except that any NaN is as good as another.

    Of a complex number `rtol` is a share of the modulus, since either part may be a small difference of large terms.
    """

    what: str
    got: torch.Tensor
    expected: torch.Tensor
    rtol: float = 0.0
    atol: float = 0.0


Checker = Callable[[object, re.Match], Iterator[Check]]
Release = tuple[int, int]
DEFAULT_RELEASE = "2.13"
NEVER: Release = (99, 0)


def release_of(text: str) -> Release:
    """Of "2.14" or "2.14.1"."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


@dataclasses.dataclass(frozen=True)
class Declared:
    pattern: re.Pattern
    since: Release
    before: Release
    checker: Checker


_CHECKERS: list[Declared] = []
_release = release_of(DEFAULT_RELEASE)
_library: pathlib.Path | None = None


def set_release(text: str, library: pathlib.Path | None = None) -> None:
    """Whose kernels are checked from now on, and in which file they are."""
    global _release, _library
    _release, _library = release_of(text), library


def library() -> pathlib.Path:
    if _library is None:
        raise RuntimeError("the kernels are in no file")
    return _library


def is_since(text: str) -> bool:
    return _release >= release_of(text)


def checks(pattern: str, *, since: str = "0.0", before: str | None = None) -> Callable[[Checker], Checker]:
    """Declares that the function checks every kernel of these releases whose whole name matches."""
    last = release_of(before) if before else NEVER

    def declare(checker: Checker) -> Checker:
        _CHECKERS.append(Declared(re.compile(pattern), release_of(since), last, checker))
        return checker

    return declare


def load_families() -> None:
    for module in pkgutil.iter_modules([str(pathlib.Path(__file__).parent / "families")]):
        importlib.import_module(f"families.{module.name}")


def checker_of(name: str) -> tuple[Checker, re.Match] | None:
    found = [
        (each.checker, match)
        for each in _CHECKERS
        if each.since <= _release < each.before and (match := each.pattern.fullmatch(name))
    ]
    if len(found) > 1:
        raise RuntimeError(f"{name} has {len(found)} checkers: {[checker.__qualname__ for checker, _ in found]}")
    return found[0] if found else None


@dataclasses.dataclass
class Outcome:
    verdict: str  # "equal", "close", "differs", "nothing checked"
    checks: int
    worst: float  # the largest error, as a share of what is allowed; 0 where all is to the bit
    digest: str  # of all that the kernel gave: two engines agree where it is the same
    first: str  # the first check that failed, and how


def compare(check: Check) -> tuple[float, str]:
    """The largest error as a share of what is allowed (infinite: not comparable), and what is wrong in words."""
    got, expected = check.got.cpu(), check.expected.cpu()
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return float("inf"), f"{got.dtype} {tuple(got.shape)} for {expected.dtype} {tuple(expected.shape)}"
    if got.dtype == torch.float8_e4m3fn:  # of which torch has no arithmetic
        got, expected = got.float(), expected.float()
    size = expected.double().abs() if not got.is_complex() else expected.to(torch.complex128).abs().unsqueeze(-1)
    if got.is_complex():
        got, expected = torch.view_as_real(got.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    if got.is_floating_point():
        same = (got == expected) & (torch.signbit(got) == torch.signbit(expected)) | got.isnan() & expected.isnan()
    else:
        same = got == expected
    if bool(same.all()):
        return 0.0, ""
    error = (got.double() - expected.double()).abs()
    allowed = check.atol + check.rtol * size
    share = torch.where(same, 0.0, error / allowed)
    share = torch.where(share.isnan(), float("inf"), share)
    if check.rtol or check.atol:  # zeros of either sign are close
        share = torch.where((got == expected), 0.0, share)
    at = int(share.flatten().argmax())
    worst = float(share.flatten()[at])
    text = (
        f"{check.what}: element {at} of {got.numel()}: {got.flatten()[at].item()} for {expected.flatten()[at].item()}"
    )
    return worst, "" if worst <= 1 else text


def bits_of(values: torch.Tensor) -> bytes:
    """With one NaN for all: its sign depends on the order in which a compiler takes operands."""
    values = values.detach().cpu().contiguous().flatten()
    numbers = torch.view_as_real(values) if values.is_complex() else values
    numbers = numbers.float() if numbers.dtype == torch.float8_e4m3fn else numbers
    if numbers.is_floating_point():
        numbers = torch.where(numbers.isnan(), torch.full_like(numbers, float("nan")), numbers)
    return numbers.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def check_kernel(library, name: str) -> Outcome | None:
    """Launches and compares the kernel; None where no family covers it."""
    found = checker_of(name)
    if found is None:
        return None
    checker, match = found
    torch.manual_seed(zlib.crc32(name.encode()))
    digest = hashlib.sha256()
    count, worst, first = 0, 0.0, ""
    for check in checker(getattr(library, name), match):
        count += 1
        digest.update(bits_of(check.got))
        share, wrong = compare(check)
        worst = max(worst, share)
        first = first or wrong
    if count == 0:
        return Outcome("nothing checked", 0, 0.0, "", "")
    verdict = "differs" if first else "close" if worst > 0 else "equal"
    return Outcome(verdict, count, worst, digest.hexdigest()[:16], first)
