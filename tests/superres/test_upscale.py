"""anymps sr upscale, beside the same networks in Python."""

import itertools
import zipfile

import numpy as np
import pytest
import slices
import torch
from networks import network
from pictures import picture
from PIL import Image
from safetensors.torch import load_file, save_file

KINDS = ("edsr", "plksr", "realplksr")


def made(kind: str, scale: int, upsampler: str, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    module = network(kind, scale, 8, 2, 5, upsampler).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("scope.weight"):
                parameter.normal_(0, 0.5)
    return module


def pixels_of(path) -> torch.Tensor:
    array = np.asarray(Image.open(path).convert("RGB")).astype(np.float32) / 255
    return torch.from_numpy(array).permute(2, 0, 1)[None]


def rounded(pixels: torch.Tensor) -> np.ndarray:
    return (255 * pixels.clamp(0, 1)).round()[0].permute(1, 2, 0).detach().numpy()


def numbers_of(sr, *words, **variables) -> torch.Tensor:
    """What `anymps sr upscale` makes of in.png, before it is rounded."""
    sr.run("upscale", "model.safetensors", "in.png", "out.safetensors", "--overwrite", "--quiet", *words, **variables)
    return load_file(sr.folder / "out.safetensors")["image"][None]


NETWORKS = list(itertools.product(KINDS, (2, 3, 4), ("pixelshuffle", "dysample")))


# Every fifth has each kind, each scale and both upsamplers.
@pytest.mark.parametrize(("kind", "scale", "upsampler"), slices.part_of(NETWORKS, slices.chosen("1/5")))
def test_the_reference_agrees(sr, kind, scale, upsampler):
    module = made(kind, scale, upsampler)
    save_file(module.state_dict(), sr.folder / "model.safetensors")
    picture(5, 40).save(sr.folder / "in.png")
    wanted = module(pixels_of(sr.folder / "in.png"))
    on_cpu, on_mps = (numbers_of(sr, "--device", device) for device in ("cpu", "mps"))
    assert (on_cpu - wanted).abs().max() <= 1e-5
    # On mps DySample has a forward of its own.
    assert (on_mps - on_cpu).abs().max() <= 1e-6
    sr.run("upscale", "model.safetensors", "in.png", "out.png")
    assert np.abs(np.asarray(Image.open(sr.folder / "out.png")) - rounded(wanted)).max() <= 1


def pytorch_file(form: str, module: torch.nn.Module) -> object:
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.zeros(1, 3, 8, 8)).mean().backward()
    optimizer.step()
    state = module.state_dict()
    return {
        "state_dict": state,
        "dict": dict(state),
        "parameters": {name: torch.nn.Parameter(tensor) for name, tensor in state.items()},
        "params_ema": {"iter": 3, "rate": 1e-4, "params": {}, "params_ema": state},
        "checkpoint": {"optimizer": optimizer.state_dict(), "state_dict": state, "note": ("a", None, 2**70, b"x")},
        "views": {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in state.items()},
    }[form]


@pytest.mark.parametrize("form", ["state_dict", "dict", "parameters", "params_ema", "checkpoint", "views"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_pytorch_files_are_read(sr, form, protocol):
    module = made("edsr", 2, "pixelshuffle")
    torch.save(pytorch_file(form, module), sr.folder / "model.pth", pickle_protocol=protocol)
    picture(5, 40).save(sr.folder / "in.png")
    sr.run("upscale", "model.pth", "in.png", "out.png", "--device", "cpu")
    wanted = rounded(module(pixels_of(sr.folder / "in.png")))
    assert np.abs(np.asarray(Image.open(sr.folder / "out.png")) - wanted).max() <= 1


@pytest.mark.parametrize("upsampler", ["pixelshuffle", "dysample"])
@pytest.mark.parametrize("kind", ["edsr", "plksr"])
def test_tiles_have_no_seams(sr, kind, upsampler):
    save_file(made(kind, 2, upsampler).state_dict(), sr.folder / "model.safetensors")
    picture(6, 130).save(sr.folder / "in.png")
    whole, tiles = (numbers_of(sr, "--tile", side) for side in (512, 32))
    # The coordinates that DySample samples at are shares of a picture, and rounded as such.
    assert (whole - tiles).abs().max() <= (1e-5 if upsampler == "dysample" else 1e-6)


def test_tiles_are_as_large_as_memory_lets_them(sr):
    save_file(made("edsr", 2, "pixelshuffle").state_dict(), sr.folder / "model.safetensors")
    picture(6, 90).save(sr.folder / "in.png")
    sides = {}
    for share in ("1.0", "0.01"):
        limits = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": share, "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.0"}
        words = ("upscale", "model.safetensors", "in.png", f"{share}.png")
        said = sr.run(*words, ANYMPS_MAC="m1-8gb", **limits).stderr
        sides[share] = int(said.split("tiles of ")[1].split()[0])
    assert sides["1.0"] == 1024
    assert 32 <= sides["0.01"] < 1024
    one, other = (np.asarray(Image.open(sr.folder / f"{share}.png")) for share in sides)
    assert np.array_equal(one, other)


def test_alpha_and_16_bits_are_kept(sr):
    save_file(made("edsr", 2, "pixelshuffle").state_dict(), sr.folder / "model.safetensors")
    image = picture(7, 31)
    image.putalpha(Image.linear_gradient("L").resize((31, 31)))
    image.save(sr.folder / "alpha.png")
    grey = np.asarray(picture(7, 31).convert("L")).astype(np.uint16) * 257
    Image.fromarray(grey).save(sr.folder / "deep.png")
    for name in ("alpha", "deep"):
        sr.run("upscale", "model.safetensors", f"{name}.png", f"{name}-2x.png", "--device", "cpu")
    alpha = Image.open(sr.folder / "alpha-2x.png")
    assert (alpha.mode, alpha.size) == ("RGBA", (62, 62))
    wanted = np.asarray(Image.linear_gradient("L").resize((31, 31)).resize((62, 62), Image.BICUBIC)).astype(int)
    assert np.abs(np.asarray(alpha)[..., 3].astype(int) - wanted).max() <= 2
    deep = Image.open(sr.folder / "deep-2x.png")
    assert deep.mode.startswith("I") and deep.size == (62, 62)
    assert len(np.unique(np.asarray(deep))) > 256


def test_folders_and_odd_sizes(sr):
    save_file(made("plksr", 3, "pixelshuffle").state_dict(), sr.folder / "model.safetensors")
    folder = sr.folder / "in"
    (folder / "below").mkdir(parents=True)
    Image.new("RGB", (1, 1), (9, 99, 199)).save(folder / "one.png")
    picture(8, 64).crop((0, 0, 64, 7)).save(folder / "below" / "flat.jpg")
    (folder / "bad.png").write_text("no picture")
    result = sr.run("upscale", "model.safetensors", "in", "out", status=1)
    assert "bad.png" in result.stderr
    assert Image.open(sr.folder / "out/one.png").size == (3, 3)
    assert Image.open(sr.folder / "out/below/flat.jpg.png").size == (192, 21)


def test_what_cannot_be_enlarged_is_said_in_one_line(sr):
    save_file(made("edsr", 2, "pixelshuffle").state_dict(), sr.folder / "model.safetensors")
    save_file({"x": torch.zeros(2)}, sr.folder / "other.safetensors")
    (sr.folder / "cut.safetensors").write_bytes((sr.folder / "model.safetensors").read_bytes()[:-10])
    picture(9, 32).save(sr.folder / "in.png")
    (sr.folder / "there.png").write_text("mine")
    for words, text in (
        (("model.safetensors", "nowhere.png", "out.png"), "no such file"),
        (("model.safetensors", "in.png", "out.png", "--scale", 4), "a model for scale 2"),
        (("model.safetensors", "in.png", "there.png"), "there already"),
        (("other.safetensors", "in.png", "out.png"), "no network that is known"),
        (("cut.safetensors", "in.png", "out.png"), "cut short or damaged"),
        (("in.png", "in.png", "out.png"), "no file of weights"),
    ):
        result = sr.run("upscale", *words, "--quiet", status=2)
        assert text in result.stderr
        assert result.stderr.count("\n") == 1
    assert (sr.folder / "there.png").read_text() == "mine"


def test_weights_are_written_in_both_formats(sr):
    state = made("plksr", 2, "dysample").state_dict()
    save_file(state, sr.folder / "a.safetensors")
    sr.run("convert", "a.safetensors", "b.pth")
    sr.run("convert", "b.pth", "c.safetensors")
    for read in (torch.load(sr.folder / "b.pth", weights_only=True), load_file(sr.folder / "c.safetensors")):
        assert read.keys() == state.keys()
        assert all(torch.equal(read[name], tensor) for name, tensor in state.items())
    assert "there already" in sr.run("convert", "a.safetensors", "b.pth", status=2).stderr


def hostile(state: dict) -> dict[str, dict]:
    """Files that claim what they have not got."""
    empty = {name: tensor[:0] for name, tensor in state.items()}
    flat = {name: tensor.sum() for name, tensor in state.items()}
    return {"empty": empty, "flat": flat, "short": dict(list(state.items())[:4])}


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_fit_no_network_are_refused(sr, kind):
    picture(5, 40).save(sr.folder / "in.png")
    for name, state in hostile(made(kind, 2, "dysample").state_dict()).items():
        save_file({key: tensor.contiguous() for key, tensor in state.items()}, sr.folder / f"{name}.safetensors")
        result = sr.run("upscale", f"{name}.safetensors", "in.png", "out.png", "--quiet", "--device", "cpu", status=2)
        assert f"{name}.safetensors: " in result.stderr
        assert result.stderr.count("\n") == 1


class Evil:
    def __reduce__(self):
        return (exec, ("open('evil', 'w')",))


def test_nothing_in_a_file_is_run(sr):
    module = made("edsr", 2, "pixelshuffle")
    torch.save({"evil": Evil(), "params": module.state_dict()}, sr.folder / "model.pth")
    picture(5, 40).save(sr.folder / "in.png")
    sr.run("upscale", "model.pth", "in.png", "out.png", "--device", "cpu")
    assert not (sr.folder / "evil").exists()


def test_damaged_pytorch_files_are_refused_in_one_line(sr):
    torch.save(made("edsr", 2, "pixelshuffle").state_dict(), sr.folder / "model.pth")
    picture(5, 40).save(sr.folder / "in.png")
    whole = (sr.folder / "model.pth").read_bytes()
    torch.save({"x": 1}, sr.folder / "none.pth")
    torch.save({"x": torch.zeros(1)}, sr.folder / "old.pth", _use_new_zipfile_serialization=False)
    (sr.folder / "cut.pth").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(sr.folder / "model.pth") as one, zipfile.ZipFile(sr.folder / "odd.pth", "w") as other:
        for name in one.namelist():
            # An instruction that no file of PyTorch's has, in place of the one that ends the pickle.
            other.writestr(name, one.read(name)[:-1] + b"\xfe" if name.endswith(".pkl") else one.read(name))
    for name, text in (
        ("none.pth", "no dictionary of tensors"),
        ("old.pth", "before PyTorch 1.6"),
        ("cut.pth", "cut short or damaged"),
        ("odd.pth", "instruction 0xfe"),
    ):
        result = sr.run("upscale", name, "in.png", "out.png", "--quiet", status=2)
        assert text in result.stderr
        assert result.stderr.count("\n") == 1


def test_what_was_trained_is_what_the_reference_loads(sr, database):
    for kind in KINDS:
        sr.run(
            "train", "--data", database, "--out", kind, "--steps", 2, "--network", kind, "--batch", 2, "--crop", 16,
            "--device", "cpu",
        )  # fmt: skip
        module = network(kind, 2, 32, 8, 13, "pixelshuffle")
        module.load_state_dict(load_file(sr.folder / kind / "model.safetensors"))
        picture(5, 40).save(sr.folder / "in.png")
        sr.run("upscale", f"{kind}/model.safetensors", "in.png", f"{kind}.png", "--device", "cpu")
        wanted = rounded(module.eval()(pixels_of(sr.folder / "in.png")))
        assert np.abs(np.asarray(Image.open(sr.folder / f"{kind}.png")) - wanted).max() <= 1
