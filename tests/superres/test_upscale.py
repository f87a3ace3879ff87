"""anymps sr upscale, beside the same networks in Python."""

import itertools

import numpy as np
import pytest
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


@pytest.mark.parametrize(
    ("kind", "scale", "upsampler"), list(itertools.product(KINDS, (2, 3, 4), ("pixelshuffle", "dysample")))
)
def test_the_reference_agrees(sr, kind, scale, upsampler):
    module = made(kind, scale, upsampler)
    save_file(module.state_dict(), sr.folder / "model.safetensors")
    picture(5, 40).save(sr.folder / "in.png")
    wanted = module(pixels_of(sr.folder / "in.png"))
    for device in ("cpu", "mps"):
        sr.run("upscale", "model.safetensors", "in.png", f"{device}.png", "--device", device, "--quiet")
        assert np.abs(np.asarray(Image.open(sr.folder / f"{device}.png")) - rounded(wanted)).max() <= 1


@pytest.mark.parametrize("form", ["plain", "params_ema"])
def test_pytorch_files_are_read(sr, form):
    module = made("edsr", 2, "pixelshuffle")
    state = dict(module.state_dict())
    torch.save(state if form == "plain" else {"params_ema": state, "iter": 3}, sr.folder / "model.pth")
    picture(5, 40).save(sr.folder / "in.png")
    sr.run("upscale", "model.pth", "in.png", "out.png", "--device", "cpu")
    wanted = rounded(module(pixels_of(sr.folder / "in.png")))
    assert np.abs(np.asarray(Image.open(sr.folder / "out.png")) - wanted).max() <= 1


@pytest.mark.parametrize("kind", ["edsr", "plksr"])
def test_tiles_have_no_seams(sr, kind):
    save_file(made(kind, 2, "dysample").state_dict(), sr.folder / "model.safetensors")
    picture(6, 130).save(sr.folder / "in.png")
    for name, tile in (("whole", 512), ("tiles", 32)):
        sr.run("upscale", "model.safetensors", "in.png", f"{name}.png", "--tile", tile)
    one, other = (np.asarray(Image.open(sr.folder / f"{name}.png")).astype(int) for name in ("whole", "tiles"))
    assert np.abs(one - other).max() <= 1


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
