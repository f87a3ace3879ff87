"""Checks one kernel per line of stdin. Started by run.py."""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))

import answers
import harness
import sources
import torch


class Refused(Exception):
    """The product would not run the kernel, as opposed to a checker that went wrong."""


class Watched:
    def __init__(self, kernel):
        self._kernel = kernel

    def __call__(self, *arguments, **options):
        try:
            self._kernel(*arguments, **options)
        except RuntimeError as error:
            raise Refused(str(error)) from error

    def __getattr__(self, name):
        return getattr(self._kernel, name)


class WatchedLibrary:
    def __init__(self, library):
        self._library = library

    def __getattr__(self, name):
        try:
            return Watched(getattr(self._library, name))
        except RuntimeError as error:
            raise Refused(str(error)) from error


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=pathlib.Path, help="FILE.metallib, or a tree of PyTorch's sources")
    parser.add_argument("--answers", type=int, help="file descriptor for the answers")
    parser.add_argument("--release", default=harness.DEFAULT_RELEASE, help="whose host code launches the kernels")
    parser.add_argument("--list", action="store_true", help="print [kernel, is covered] of each as JSON and leave")
    options = parser.parse_args()

    torch.set_num_threads(1)
    harness.set_release(options.release, options.library)
    harness.load_families()
    from_source = options.library.is_dir()
    library = sources.SourceLibrary(options.library) if from_source else torch.mps.load_metallib(str(options.library))
    if options.list:
        for file, error in library.errors.items() if from_source else ():
            print(f"{file} does not compile: {error}", file=sys.stderr)
        print(json.dumps([(name, harness.checker_of(name) is not None) for name in sorted(dir(library))]))
        return
    watched = WatchedLibrary(library)

    def answer(name: str) -> dict:
        try:
            found = harness.check_kernel(watched, name)
        except Refused as error:
            return {"outcome": "refused", "detail": one_line(error)}
        except Exception as error:
            return {"outcome": "error", "detail": f"{type(error).__name__}: {one_line(error)}"}
        return {
            "outcome": found.verdict,
            "checks": found.checks,
            "worst": found.worst,
            "digest": found.digest,
            "detail": found.first,
        }

    answers.serve(options.answers, answer)


if __name__ == "__main__":
    main()
