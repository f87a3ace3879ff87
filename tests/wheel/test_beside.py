"""The wheel in one process with other packages that bring LLVM, compilers or signal handlers of their own."""

import pytest
import torch_environments

# What each does that wakes its compiler or its runtime.
OTHERS = {
    "numba": """
import numba, numpy
@numba.njit
def doubled(x):
    return x * 2.0
assert doubled(numpy.ones(3)).tolist() == [2.0] * 3
""",
    "llvmlite": """
import llvmlite.binding as llvm
llvm.initialize_native_target(); llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine()
module = llvm.parse_assembly("define i32 @f() { ret i32 42 }")
engine = llvm.create_mcjit_compiler(module, machine); engine.finalize_object()
import ctypes
assert ctypes.CFUNCTYPE(ctypes.c_int32)(engine.get_function_address("f"))() == 42
""",
    "warp": """
import warp
warp.config.quiet = True
warp.init()
@warp.kernel
def doubled(x: warp.array(dtype=float)):
    i = warp.tid()
    x[i] = x[i] * 2.0
x = warp.ones(3, dtype=float, device="cpu")
warp.launch(doubled, dim=3, inputs=[x], device="cpu")
assert x.numpy().tolist() == [2.0] * 3
""",
    "jax": """
import jax
assert jax.jit(lambda x: x * 2)(jax.numpy.ones(3)).tolist() == [2.0] * 3
""",
    "tensorflow": """
import tensorflow
assert tensorflow.function(lambda x: x * 2, jit_compile=True)(tensorflow.ones(3)).numpy().tolist() == [2.0] * 3
""",
    "triton": """
import triton, triton.language
from triton._C.libtriton import ir, llvm
ir.load_dialects(context := ir.context())
llvm.init_targets()
""",
}

OURS = """
import torch
library = torch.mps.compile_shader('''
#include <metal_stdlib>
kernel void scaled(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = 3 * metal::precise::sin(float(i));
}
''')
out = torch.empty(100, device="mps")
library.scaled(out)
assert torch.allclose(out.cpu(), 3 * torch.arange(100.0).sin(), atol=1e-6)
assert (torch.ones(3, device="mps") * 2).tolist() == [2.0] * 3
"""

INTERRUPT = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(scope="session")
def others():
    folder = torch_environments.with_packages("others", "numba", "warp-lang", "jax", "tensorflow-cpu", "triton")
    if folder is None:
        pytest.skip("pip does not bring numba, warp-lang, jax, tensorflow-cpu and triton here")
    return folder


@pytest.mark.parametrize("ours_first", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_package(installed, others, tmp_path, name, ours_first):
    code = OURS + OTHERS[name] + OURS if ours_first else OTHERS[name] + OURS + OTHERS[name]
    # In a file, as some read their own source. The folder comes after the environment's own packages.
    program = tmp_path / "program.py"
    program.write_text(f"import sys; sys.path.append({str(others)!r})\n{code}{INTERRUPT}")
    finished = installed.run("python", program, TF_CPP_MIN_LOG_LEVEL="2", JAX_PLATFORMS="cpu")
    assert finished.stdout.split()[-1] == "interrupted"
    for word in ("registered more than once", "Option already exists", "Inconsistency detected"):
        assert word not in finished.stderr


@pytest.mark.parametrize("ours_first", [True, False], ids=["after", "before"])
def test_who_had_a_fault_before_has_it_after(installed, ours_first):
    """A fault outside of kernels goes to the handler that was there."""
    enable = "import faulthandler; faulthandler.enable()\n"
    code = (OURS + enable if ours_first else enable + OURS) + "import ctypes; ctypes.string_at(0)"
    finished = installed.run("python", "-c", code, check=False)
    assert finished.returncode == -11
    assert "Fatal Python error: Segmentation fault" in finished.stderr


def test_a_cuda_build_without_a_gpu(installed):
    if installed.python("import torch; print(torch.version.cuda)") == "None":
        pytest.skip("this PyTorch is no CUDA build")
    said = installed.python("import torch; print(torch.cuda.is_available(), torch.ones(2, device='mps').device)")
    assert said == "False mps:0"


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """One for all releases of a run."""
    return tmp_path_factory.mktemp("cache")


def test_two_environments_share_a_cache(installed, shared_cache):
    """What this release has kept serves it again, and what another has kept does no harm."""
    for _ in range(2):
        installed.run("python", "-c", OURS, ANYMPS_CACHE=str(shared_cache))
    assert any(shared_cache.rglob("*"))
