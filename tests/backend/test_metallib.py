"""torch.mps.load_metallib: compiled Metal kernels, called as PyTorch calls them on a Mac."""

import anymps
import pytest
import torch


@pytest.fixture
def library(library_bytes):
    return torch.mps.load_metallib(library_bytes)


def test_a_kernel_fills_a_tensor(library):
    x = torch.zeros(1000, device="mps")
    library.scale(x, 2.5)
    assert torch.equal(x.cpu(), torch.full((1000,), 2.5))


def test_from_a_path(library_bytes, tmp_path):
    path = tmp_path / "kernels.metallib"
    path.write_bytes(library_bytes)
    x = torch.zeros(3, device="mps")
    torch.mps.load_metallib(path).scale(x, 1.0)
    assert x.tolist() == [1, 1, 1]


def test_threads_and_groups(library):
    x = torch.zeros(10, device="mps")
    library.scale(x, 1.0, threads=7, group_size=3)
    assert x.tolist() == [1] * 7 + [0] * 3
    library.scale(x, 2.0, threads=(4, 2), group_size=(2, 1))
    assert x.tolist() == [2] * 4 + [1] * 3 + [0] * 3
    library.scale(x, 3.0, threads=0)
    assert x.tolist() == [2] * 4 + [1] * 3 + [0] * 3


def test_a_tensor_begins_at_its_offset(library):
    x = torch.zeros(10, device="mps")
    library.scale(x[4:7], 5.0)
    assert x.tolist() == [0] * 4 + [5] * 3 + [0] * 3


def test_scalars_lists_and_tensors_of_the_cpu(library):
    x = torch.zeros(2, device="mps")
    for value in (2.0, [2.0, 9.0], torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64)):
        x.zero_()
        library.scale(x, value)
        assert x.tolist() == [2, 2], value
    library.scale(x, 2, arg_casts="int32")  # the bits of an integer, which the kernel takes for a float
    assert x.view(torch.int32).tolist() == [2, 2]


def test_what_a_kernel_and_a_library_say_of_themselves(library):
    assert dir(library) == ["scale"]
    kernel = library.scale
    assert (kernel.max_threads_per_threadgroup, kernel.thread_execution_width) == (256, 32)
    assert kernel.static_thread_group_memory_length == 256


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda lib, x: lib.nothing, RuntimeError, "Failed to create function state object for: nothing"),
        (lambda lib, x: lib.scale(1.0), RuntimeError, "Number of threads is undefined or has wrong dimension"),
        (lambda lib, x: lib.scale(x, 1.0, threads=(1, 1, 1, 1)), RuntimeError, "Number of threads is undefined"),
        (lambda lib, x: lib.scale(x, 1.0, group_size=300), ValueError, "Threadgroup size exceeds 256 limit"),
        (lambda lib, x: lib.scale(x, []), RuntimeError, "Empty list/tuple can not be an argument to metal kernel"),
        (lambda lib, x: lib.scale(x, "a"), RuntimeError, "Unsupported argument type"),
        (lambda lib, x: lib.scale(x, ["a"]), RuntimeError, "Unexpected argument types"),
        (lambda lib, x: lib.scale(x, 1.0, arg_casts=3), RuntimeError, "Unexpected caster arg type int"),
        (lambda lib, x: lib.scale(x, 1.0, arg_casts="fp8"), RuntimeError, "Unsupported cast instruction fp8"),
        (lambda lib, x: lib.scale(x, torch.ones(3)), RuntimeError, "Passed CPU tensor to MPS op"),
        (lambda lib, x: lib.scale(x), RuntimeError, r"nothing is bound to argument 1 \(float factor\)"),
    ],
)
def test_refusals(library, call, error, text):
    x = torch.zeros(4, device="mps")
    with pytest.raises(error, match=text):
        call(library, x)
    library.scale(x, 1.0)
    assert x.tolist() == [1] * 4, "the library goes on"


def test_bytes_that_are_no_library():
    with pytest.raises(RuntimeError, match="Failed to load metallib: "):
        torch.mps.load_metallib(b"MTLB and no more")
    with pytest.raises(RuntimeError, match=r"Failed to load metallib from '/nowhere/at\.all': "):
        torch.mps.load_metallib("/nowhere/at.all")


def test_what_a_kernel_reports_is_raised(metal):
    library = torch.mps.load_metallib(metal.container({"complain": metal.bitcode("complain")}))
    x = torch.zeros(40, device="mps")
    library.complain(x, threads=2, error_buf_idx=1)
    torch.mps.synchronize()
    library.complain(x, threads=3, error_buf_idx=1)
    with pytest.raises(RuntimeError, match="too large"):
        torch.mps.synchronize()
    library.complain(x, threads=40, error_buf_idx=1)
    with pytest.raises(RuntimeError, match="too large"):
        torch.mps.synchronize()
    assert x.sum().item() == 40, "every thread did its work"


def test_a_library_that_is_not_trusted(library_bytes, metal, tmp_path):
    path = tmp_path / "kernels.metallib"
    path.write_bytes(library_bytes)
    for library in (library_bytes, path, str(path)):
        x = torch.zeros(3, device="mps")
        anymps.load_metallib(library).scale(x, 1.0)
        assert x.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="scale"):
        anymps.load_metallib(metal.container({"scale": b"no bitcode"}))
    with pytest.raises(FileNotFoundError):
        anymps.load_metallib(tmp_path / "nothing")


class TestGenuineKernels:
    @pytest.fixture
    def genuine(self, genuine_libraries):
        return torch.mps.load_metallib(genuine_libraries[0])

    def test_addition_is_torchs_to_the_bit(self, genuine):
        x, y = torch.randn(10_007), torch.randn(10_007)
        out = torch.empty(10_007, device="mps")
        genuine.add_dense_float_float(out, x.to("mps"), y.to("mps"))
        assert torch.equal(out.cpu(), x + y)

    def test_exp(self, genuine):
        x = torch.randn(10_007)
        out = torch.empty(10_007, device="mps")
        genuine.exp_dense_float_float(out, x.to("mps"), x.numel(), threads=(x.numel() + 3) // 4, arg_casts="int32")
        # In double: the C library and MKL round differently, and neither is the yardstick.
        torch.testing.assert_close(out.cpu(), x.double().exp().float())

    @pytest.mark.parametrize("axis", [4, 100, 500, 4000])
    def test_layer_norm_with_its_barriers(self, genuine, axis):
        rows = 37
        x, weight, bias = torch.randn(rows, axis), torch.randn(axis), torch.randn(axis)
        out, mean, rstd = (torch.empty(shape, device="mps") for shape in ((rows, axis), (rows,), (rows,)))
        group = ((axis + 3) // 4 + 31) // 32 * 32
        genuine.layer_norm_single_row_float(
            x.to("mps"), out, mean, rstd, axis, 1e-5, 1, 1, weight.to("mps"), bias.to("mps"),
            threads=rows * group, group_size=group, arg_casts={4: "int32", 6: "int32", 7: "int32"},
        )  # fmt: skip
        expected = torch.nn.functional.layer_norm(x, (axis,), weight, bias, 1e-5)
        torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-5)
