"""Writes the functions that AOTInductor's code calls for operators that it has no kernel of its own for: what the
wheel's c_shim_mps.h declares, as the wheel's own torchgen defines it.

On a Mac each calls the device's kernel by name (at::mps::OPERATOR). There is no such function here: ours go through the
dispatcher, past everything that a call by name does not pass either (src/backend/aoti/aoti_operators.h).
"""

import pathlib
import re
import sys

# The folder that PyTorch's packages lie in. An environment that pip builds in hides it.
sys.path.insert(0, sys.argv[1])

import torchgen
from torchgen.aoti.fallback_ops import inductor_fallback_ops
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.gen_aoti_c_shim import (
    gen_declaration_and_definition,
    gen_static_dispatch_backend_call,
    get_fallback_op_name,
)
from torchgen.model import NativeFunction

HEAD = """#include "backend/aoti/aoti_operators.h"

using namespace anymps::backend::aoti;
using namespace torch::aot_inductor;
"""
BODY = "AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({"


def call(function: NativeFunction) -> str:
    """What takes the arguments in the order in which torchgen writes them: the outputs first, where there are any."""
    if function.func.is_out_fn():
        return gen_static_dispatch_backend_call(function)
    # at::OPERATOR lacks those that are methods alone.
    return f"at::_ops::{function.func.name.unambiguous_name()}::call"


def definition(function: NativeFunction) -> str:
    with native_function_manager(function):
        versions = inductor_fallback_ops[get_fallback_op_name(function)]
        _, text = gen_declaration_and_definition(function.func, "mps", call(function), versions)
    return text.replace(BODY, BODY + "\n        const StraightToKernels straight;")


def main(header: str, target: str) -> None:
    declared = re.findall(r"\baoti_torch_mps_\w+(?=\()", pathlib.Path(header).read_text())
    native = pathlib.Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    text = "\n".join(
        definition(function)
        for function in parsed.native_functions
        if f"aoti_torch_mps_{function.func.name.unambiguous_name()}" in declared
        and get_fallback_op_name(function) in inductor_fallback_ops
    )
    if missing := [name for name in declared if f" {name}(" not in text]:
        sys.exit(f"torchgen does not define what {header} declares: {', '.join(missing)}")
    pathlib.Path(target).write_text(HEAD + text)


if __name__ == "__main__":
    main(*sys.argv[2:])
