"""PyTorch's kernels, compiled by our frontend: a stand-in for the library that its wheel carries."""

import pathlib

import torch
from torch.utils._cpp_embed_headers import embed_headers

KERNELS = "aten/src/ATen/native/**/mps/kernels/*.metal"


class SourceLibrary:
    """`tree` is a checkout of PyTorch. A file that does not compile leaves its kernels out; `errors` says why."""

    def __init__(self, tree: pathlib.Path):
        files = sorted(tree.glob(KERNELS))
        if not files:
            raise SystemExit(f"{tree} is no tree of PyTorch's sources: it has no {KERNELS}")
        self._of_kernel = {}
        self.errors = {}
        for file in files:
            try:
                library = torch.mps.compile_shader(embed_headers(str(file), [tree, tree / "aten" / "src"]))
            except (RuntimeError, SyntaxError) as error:
                self.errors[file.name] = str(error)
                continue
            self._of_kernel |= dict.fromkeys(dir(library), library)

    def __dir__(self):
        return self._of_kernel.keys()

    def __getattr__(self, name):
        return getattr(self._of_kernel[name], name)
