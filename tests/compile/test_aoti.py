"""AOTInductor for mps: packages are compiled, loaded by other programs, and say what the CPU's eager mode says.

A package takes ten seconds and more to compile, so each serves several tests.
"""

import concurrent.futures
import ctypes
import pathlib
import re
import subprocess
import sys
import zipfile

import anymps
import aoti_models
import pytest
import torch

HERE = pathlib.Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "cpp"
HEADERS = pathlib.Path(torch.__file__).parent / "include" / "torch" / "csrc" / "inductor" / "aoti_torch"


def compile_package(path: pathlib.Path, model: torch.nn.Module, *given: torch.Tensor, **how) -> pathlib.Path:
    exported = torch.export.export(model.to("mps"), tuple(tensor.to("mps") for tensor in given), **how)
    torch._inductor.aoti_compile_and_package(exported, package_path=str(path))
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> pathlib.Path:
    rows = torch.export.Dim("rows", min=2, max=64)
    path = tmp_path_factory.mktemp("small") / "small.pt2"
    return compile_package(path, aoti_models.Small(), aoti_models.inputs(4, 8), dynamic_shapes=({0: rows},))


@pytest.fixture(scope="module")
def ranked(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("ranked") / "ranked.pt2"
    return compile_package(path, aoti_models.Ranked(), aoti_models.inputs(2, 6))


def in_child(code: str, *arguments: object) -> str:
    """What a fresh interpreter prints, which has compiled nothing."""
    head = f"import sys, torch\nsys.path.insert(0, {str(HERE)!r})\nimport aoti_models\n"
    command = [sys.executable, "-c", head + code, *map(str, arguments)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.sliced
def test_a_package_says_what_eager_mode_says_at_sizes_it_was_not_compiled_for(small):
    in_child(
        """
model = torch._inductor.aoti_load_package(sys.argv[1])
eager = aoti_models.Small()
for rows in (4, 2, 33):
    x = aoti_models.inputs(rows, 8)
    found = model(x.to("mps"))
    assert all(tensor.device.type == "mps" for tensor in found), found
    torch.testing.assert_close(tuple(tensor.cpu() for tensor in found), eager(x))
""",
        small,
    )


@pytest.mark.sliced
def test_constants_are_device_tensors_that_can_be_replaced(small):
    in_child(
        """
model = torch._inductor.aoti_load_package(sys.argv[1])
eager = aoti_models.Small()
kept = model.loader.get_constant_fqns()
assert sorted(kept) == ["first.bias", "first.weight", "scale", "second.bias", "second.weight"], kept
for tensor in eager.state_dict().values():
    tensor.mul_(-0.5)
x = aoti_models.inputs(5, 8)
model.load_constants({name: t.to("mps") for name, t in eager.state_dict().items()}, check_full_update=True)
torch.testing.assert_close(tuple(tensor.cpu() for tensor in model(x.to("mps"))), eager(x))
""",
        small,
    )


def test_operators_without_a_kernel_of_inductors_come_from_the_backend(ranked):
    with zipfile.ZipFile(ranked) as package:
        (library,) = [package.read(name) for name in package.namelist() if name.endswith(".so")]
    # Else there is nothing to see here.
    assert b"aoti_torch_mps_topk" in library and b"aoti_torch_mps_sort" in library
    in_child(
        """
x = aoti_models.inputs(2, 6)
found = torch._inductor.aoti_load_package(sys.argv[1])(x.to("mps"))
torch.testing.assert_close(tuple(tensor.cpu() for tensor in found), aoti_models.Ranked()(x))
""",
        ranked,
    )


@pytest.mark.sliced
def test_a_cpp_program_runs_a_package(small, tmp_path):
    prefix = torch.utils.cmake_prefix_path
    launcher = "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
    subprocess.run(["cmake", "-S", EXAMPLE, "-B", tmp_path, f"-DTorch_DIR={prefix}/Torch", launcher], check=True)
    subprocess.run(["cmake", "--build", tmp_path, "--target", "anymps_package"], check=True)
    command = [tmp_path / "anymps_package", anymps.library_path(), small, "7", "8"]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    lines = [line.split() for line in finished.stdout.splitlines()]
    expected = aoti_models.Small()(aoti_models.inputs(7, 8))
    assert [device for device, *_ in lines] == ["mps:0"] * len(expected)
    for (_, *numbers), tensor in zip(lines, expected, strict=True):
        torch.testing.assert_close(torch.tensor([float(n) for n in numbers]), tensor.flatten(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("header", ["c/shim_mps.h", "generated/c_shim_mps.h"])
def test_every_function_that_pytorch_declares_is_there(header):
    declared = re.findall(r"\baoti_torch_mps_\w+(?=\()", (HEADERS / header).read_text())
    assert len(declared) > 10
    library = ctypes.CDLL(anymps.library_path())
    assert [name for name in declared if not hasattr(library, name)] == []


@pytest.fixture
def shim() -> ctypes.CDLL:
    return ctypes.CDLL(anymps.library_path())


def test_an_error_that_generated_code_passes_over_is_found_by_the_next_synchronisation(shim):
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    assert shim.aoti_torch_mps_create_shader_library(b"kernel void wrong(", ctypes.byref(library)) != 0
    assert shim.aoti_torch_mps_get_kernel_function(library, b"wrong", ctypes.byref(kernel)) != 0
    assert shim.aoti_torch_mps_start_encoding(kernel) != 0
    with pytest.raises(RuntimeError, match=r"(?s)program_source.*expected"):
        torch.mps.synchronize()
    torch.mps.synchronize()


def test_constants_stay_within_their_buffer(shim):
    """PyTorch replaces a constant by all of the storage that a tensor lies in, however little of it is the tensor."""
    before = torch.mps.current_allocated_memory()
    buffer = ctypes.c_void_p()
    assert shim.aoti_torch_mps_malloc(ctypes.byref(buffer), ctypes.c_size_t(128)) == 0
    assert torch.mps.current_allocated_memory() > before
    given = torch.arange(64, dtype=torch.uint8)

    def copy(offset: int, begin: int, count: int) -> int:
        start = ctypes.c_void_p(given.data_ptr())
        return shim.aoti_torch_mps_memcpy(buffer, *map(ctypes.c_size_t, (offset, begin, count)), start)

    assert copy(64, 4, 60) == 0
    assert (ctypes.c_uint8 * 60).from_address(buffer.value + 64)[:] == list(range(4, 64))
    assert copy(96, 0, 64) != 0
    with pytest.raises(RuntimeError, match="writes 64 bytes at 96 into a buffer of 128"):
        torch.mps.synchronize()
    assert shim.aoti_torch_mps_free(buffer) == 0
    assert torch.mps.current_allocated_memory() == before


def test_threads_may_share_a_kernel(shim):
    """As those of one model do. Between any two of these calls another thread may take its turn."""
    source = b"kernel void put(device long* out, constant long& value, uint i [[thread_position_in_grid]])"
    source += b" { out[i] = value; }"
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    assert shim.aoti_torch_mps_create_shader_library(source, ctypes.byref(library)) == 0
    assert shim.aoti_torch_mps_get_kernel_function(library, b"put", ctypes.byref(kernel)) == 0
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

    def put(number: int, out: torch.Tensor) -> None:
        (handle,) = torch._C._aoti.unsafe_alloc_void_ptrs_from_tensors([out])
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

        @callback
        def encode(function, _):
            function = ctypes.c_void_p(function)
            shim.aoti_torch_mps_start_encoding(function)
            shim.aoti_torch_mps_set_arg_tensor(function, 0, ctypes.c_void_p(pointer(handle, None)))
            shim.aoti_torch_mps_set_arg_int(function, 1, ctypes.c_int64(number))
            shim.aoti_torch_mps_dispatch_single(function, ctypes.c_uint64(out.numel()))

        for _ in range(50):
            assert shim.aoti_torch_mps_run_command_block(kernel, encode, None) == 0

    outs = [torch.zeros(64, dtype=torch.int64, device="mps") for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(len(outs)) as pool:
        list(pool.map(put, range(1, 9), outs))
    torch.mps.synchronize()
    assert [out.unique().tolist() for out in outs] == [[n] for n in range(1, 9)]
    assert shim.aoti_torch_mps_delete_shader_library(library) == 0
