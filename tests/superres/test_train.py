"""anymps sr train: it learns, does the same on cpu and mps, and goes on to the bit."""

import json
import random
import re
import signal
import time
from pathlib import Path

import pytest
import slices
from pictures import picture, write_pictures
from safetensors.torch import load_file

DOCUMENTATION = Path(__file__).parents[2] / "docs"
KILLS = 20 if slices.whole() else 8
SMALL = {
    "network": {"width": 16, "blocks": 3},
    "batch": 8,
    "crop": 16,
    "learning_rate": 1e-3,
    "validation": 4,
    "checkpoint_every": 5,
}


def config(sr, **settings) -> str:
    (sr.folder / "config.json").write_text(json.dumps(SMALL | settings))
    return "config.json"


def train(sr, database, out, *words, **keywords) -> dict:
    return sr.json("train", "--data", database, "--config", "config.json", "--out", out, *words, **keywords)


# A Mac with 8 GB of which others have taken most.
SMALL_MAC = {
    "ANYMPS_MAC": "m1-8gb",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.01",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.0",
}


def losses(sr, run) -> list[float]:
    return [line["loss"] for line in sr.log(run) if "loss" in line]


def test_it_beats_bicubic_on_mps(sr):
    write_pictures(sr.folder / "pictures", 64)
    sr.run("pack", "pictures", "pairs.lmdb", "--scale", 2)
    network = {"width": 16, "blocks": 2}
    config(
        sr,
        network=network,
        crop=16,
        learning_rate=5e-3,
        ema=0.98,
        checkpoint_every=300,
        validate_every=300,
        validation=8,
    )
    result = train(sr, "pairs.lmdb", "run", "--steps", 300)
    assert result["psnr"] - result["bicubic_psnr"] >= 1.5
    assert {file.name for file in (sr.folder / "run").iterdir()} == {
        "model.safetensors", "checkpoint.safetensors", "log.jsonl", "curves.html",
    }  # fmt: skip
    # The loss is a curve, the quality was measured once.
    quality, loss = (sr.folder / "run" / "curves.html").read_text().split("<figure", 1)
    assert "psnr at step 300" in quality and "a curve begins with the second time" in quality
    assert "<path" in loss


def test_cpu_and_mps_agree(sr, database):
    config(sr)
    for device in ("cpu", "mps"):
        train(sr, database, device, "--steps", 50, "--device", device, "--log-every", 1)
    one, other = losses(sr, "cpu"), losses(sr, "mps")
    assert len(one) == len(other) == 50
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 1e-5


@pytest.mark.parametrize("settings", [
    {}, {"optimizer": "adamw", "accumulate": 2, "frequency": 0.1, "weight_decay": 0.01}, {"ema": 0, "warm_up": 5},
], ids=["plain", "much", "little"])  # fmt: skip
def test_it_goes_on_to_the_bit(sr, database, settings):
    config(sr, **settings)
    train(sr, database, "whole", "--steps", 20)
    child = sr.start("train", "--data", database, "--config", "config.json", "--out", "parts", "--steps", 20)
    for _ in range(600):
        if (sr.folder / "parts" / "checkpoint.safetensors").exists() or child.poll() is not None:
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    assert child.wait() in (0, 1)
    train(sr, database, "parts", "--steps", 20)
    one, other = (sr.folder / run / "model.safetensors" for run in ("whole", "parts"))
    assert one.read_bytes() == other.read_bytes()
    assert losses(sr, "whole") == losses(sr, "parts")


def test_killed_trainings_end_the_same(sr, database):
    config(sr, checkpoint_every=1)
    begin = time.monotonic()
    train(sr, database, "whole", "--steps", 30)
    lasts = time.monotonic() - begin
    chance = random.Random(0)
    for _ in range(KILLS):
        child = sr.start("train", "--data", database, "--config", "config.json", "--out", "parts", "--steps", 30)
        time.sleep(chance.uniform(0.2 * lasts, lasts))
        child.send_signal(signal.SIGKILL)
        child.wait()
    train(sr, database, "parts", "--steps", 30)
    one, other = (sr.folder / run / "model.safetensors" for run in ("whole", "parts"))
    assert one.read_bytes() == other.read_bytes()


def test_checkpointing_changes_nothing(sr, database):
    config(sr)
    train(sr, database, "plain", "--steps", 6)
    config(sr, checkpointing=True)
    train(sr, database, "again", "--steps", 6)
    one, other = (load_file(sr.folder / run / "model.safetensors") for run in ("plain", "again"))
    for name, tensor in one.items():
        assert (tensor - other[name]).abs().max() <= 1e-6


def test_workers_change_nothing(sr, database):
    config(sr)
    for workers in (0, 3):
        train(sr, database, f"w{workers}", "--steps", 6, "--device", "cpu", "--workers", workers)
    assert (sr.folder / "w0/model.safetensors").read_bytes() == (sr.folder / "w3/model.safetensors").read_bytes()


def test_the_policy_is_told_with_its_reasons(sr, database):
    config(sr)
    words = ("--steps", 1, "--upsampler", "dysample")
    train(sr, database, "mps", *words, PYTORCH_ENABLE_MPS_FALLBACK="1")
    begin = sr.log("mps")[0]
    assert any("pixelshuffle in place of dysample" in reason for reason in begin["policy"])
    assert [reason.split(" (")[0] for reason in begin["policy"][:3]] == [
        "workers: 0",
        "pin_memory: off",
        "use_amp: off",
    ]
    assert begin["variables"] == ["PYTORCH_ENABLE_MPS_FALLBACK=1"]
    assert "upsample.0.weight" in load_file(sr.folder / "mps/model.safetensors")
    train(sr, database, "kept", *words, "--keep-dysample", "--workers", 1)
    begin = sr.log("kept")[0]
    assert any(reason.startswith("workers: 1 (asked for; the policy would have 0") for reason in begin["policy"])
    assert "upsample.offset.weight" in load_file(sr.folder / "kept/model.safetensors")


def test_what_is_told_of_amp_is_what_the_documentation_says(sr, database):
    config(sr)
    train(sr, database, "mps", "--steps", 1)
    (told,) = [reason for reason in sr.log("mps")[0]["policy"] if reason.startswith("use_amp: off")]
    guides = (DOCUMENTATION / "guides.md").read_text().partition("**Mixed precision.**")[2].partition("\n\n")[0]
    (row,) = [line for line in (DOCUMENTATION / "superres.md").read_text().splitlines() if line.startswith("| use_amp")]
    for text in (told, guides, row):
        # It works, is off all the same, and why.
        for said in (r"torch\.autocast", r"\bunless\b", r"\bnot (be )?measured\b"):
            assert re.search(said, text), (said, text)
    for text in (told, guides):
        assert "float32" in text
    assert "`--use-amp true`" in guides and "--use-amp" in sr.run("train", "--help").stdout
    train(sr, database, "asked", "--steps", 1, "--use-amp", "true")
    assert any(reason.startswith("use_amp: on (asked for") for reason in sr.log("asked")[0]["policy"])


def test_a_dysample_training_is_not_continued_on_mps_unasked(sr, database):
    config(sr)
    train(sr, database, "run", "--steps", 2, "--upsampler", "dysample", "--device", "cpu")
    before = (sr.folder / "run/checkpoint.safetensors").read_bytes()
    words = ("train", "--data", database, "--config", "config.json", "--upsampler", "dysample", "--quiet")
    result = sr.run(*words, "--out", "run", "--steps", 2, status=2)
    for text in (
        "dysample, which on mps:0 is trained as pixelshuffle",
        "--keep-dysample",
        "--init run/model.safetensors",
    ):
        assert text in result.stderr
    assert (sr.folder / "run/checkpoint.safetensors").read_bytes() == before
    sr.run(*words, "--out", "run", "--steps", 2, "--keep-dysample")
    result = sr.run(*words, "--out", "other", "--steps", 1, "--init", "run/model.safetensors")
    begun, left = load_file(sr.folder / "run/model.safetensors"), load_file(sr.folder / "other/model.safetensors")
    assert "the others begin anew" in result.stderr
    same = [name for name in left if name in begun and (left[name] - begun[name]).abs().max() < 1e-2]
    assert len(same) == len([name for name in left if not name.startswith("upsample")])


def test_it_trains_within_a_mac_of_8_gb(sr, database):
    config(sr)
    result = train(sr, database, "run", "--steps", 3, "--mac", "m1-8gb")
    assert result["done"]
    said = sr.run("train", "--data", database, "--out", "other", "--mac", "m1-9gb", status=2).stderr
    assert "m1-9gb" in said
    assert not (sr.folder / "other").exists()


def test_a_batch_that_is_too_large_is_answered_with_one_that_fits(sr, database):
    config(sr, network={"width": 16, "blocks": 4}, crop=32)
    result = sr.run(
        "train", "--data", database, "--config", "config.json", "--out", "run", "--steps", 2, "--batch", 64,
        status=2, **SMALL_MAC,
    )  # fmt: skip
    line = next(line for line in result.stderr.splitlines() if "does not fit" in line)
    fits = int(line.split("the largest that fits is ")[1].split(".")[0])
    assert 0 < fits < 64
    train(sr, database, "run", "--steps", 2, "--batch", fits, **SMALL_MAC)


def test_a_batch_that_no_longer_fits_is_split(sr, database):
    config(sr, network={"width": 16, "blocks": 4}, crop=32, batch=32)
    train(sr, database, "whole", "--steps", 2)
    child = sr.start("train", "--data", database, "--config", "config.json", "--out", "run", "--steps", 2)
    while not (sr.folder / "run/log.jsonl").exists():
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    assert child.wait() == 1
    words = ("train", "--data", database, "--config", "config.json", "--out", "run", "--steps", 2)
    said = sr.run(*words, status=2, **SMALL_MAC).stderr
    split = said[said.index("--batch") : said.index(" takes the same steps")].split()
    sr.run(*words, *split, **SMALL_MAC)
    one, other = (load_file(sr.folder / run / "model.safetensors") for run in ("whole", "run"))
    for name, tensor in one.items():
        assert (tensor - other[name]).abs().max() <= 1e-4


def test_small_pictures_are_passed_over(sr):
    folder = write_pictures(sr.folder / "pictures", 4)
    picture(9, 24).save(folder / "small.png")
    sr.run("pack", "pictures", "pairs.lmdb")
    config(sr, validation=0)
    assert train(sr, "pairs.lmdb", "run", "--steps", 4)["done"]
    words = ("train", "--data", "pairs.lmdb", "--config", "config.json")
    said = sr.run(*words, "--out", "other", "--crop", 90, status=2).stderr
    assert "all pairs are smaller than a crop of 90" in said


def test_what_is_packed_meanwhile_changes_nothing(sr):
    write_pictures(sr.folder / "pictures", 8)
    sr.run("pack", "pictures", "pairs.lmdb")
    config(sr, checkpoint_every=1)
    train(sr, "pairs.lmdb", "whole", "--steps", 12)
    words = ("train", "--data", "pairs.lmdb", "--config", "config.json", "--out", "parts", "--steps", 12)
    child = sr.start(*words)
    while not (sr.folder / "parts/checkpoint.safetensors").exists():
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.wait() == 1
    write_pictures(sr.folder / "pictures", 12)
    sr.run("pack", "pictures", "pairs.lmdb")
    sr.run(*words)
    one, other = (sr.folder / run / "model.safetensors" for run in ("whole", "parts"))
    assert one.read_bytes() == other.read_bytes()


def test_a_model_that_is_missing_at_the_end_is_written(sr, database):
    config(sr)
    train(sr, database, "run", "--steps", 2)
    before = (sr.folder / "run/model.safetensors").read_bytes()
    (sr.folder / "run/model.safetensors").unlink()
    train(sr, database, "run", "--steps", 2)
    assert (sr.folder / "run/model.safetensors").read_bytes() == before
    (sr.folder / "run/checkpoint.safetensors").unlink()
    said = sr.run("train", "--data", database, "--config", "config.json", "--out", "run", "--steps", 2, status=2).stderr
    assert "a model without the checkpoint" in said


def test_one_training_a_folder(sr, database):
    config(sr)
    words = ("train", "--data", database, "--config", "config.json", "--out", "run")
    child = sr.start(*words, "--steps", 2000)
    while not (sr.folder / "run/log.jsonl").exists():
        time.sleep(0.02)
    assert "another process is writing to it" in sr.run(*words, "--steps", 2000, status=2).stderr
    child.send_signal(signal.SIGINT)
    assert child.wait() == 1


def test_mixed_precision_and_checkpointing_go_together(sr, database):
    config(sr, checkpointing=True, batch=2)
    result = train(sr, database, "run", "--steps", 2, "--device", "cpu", "--use-amp", "true")
    assert result["done"]


def test_what_cannot_be_trained_is_said_in_one_line(sr, database):
    config(sr)
    train(sr, database, "run", "--steps", 2)
    before = (sr.folder / "run/checkpoint.safetensors").read_bytes()
    for words, text in (
        (("--out", "new", "--scale", 3), "packed for scale 2"),
        (("--out", "new", "--crop", 500), "smaller than a crop of 500"),
        (("--out", "new", "--device", "tpu"), "none of the devices"),
        (("--out", "new", "--network", "vgg"), "none of the networks"),
        (("--out", "run", "--seed", 5), "another seed"),
    ):
        base = ("train", "--data", database, "--config", "config.json", "--steps", 2, "--quiet")
        result = sr.run(*base, *words, status=2)
        assert text in result.stderr
    (sr.folder / "run/checkpoint.safetensors").write_bytes(before[: len(before) // 2])
    result = sr.run("train", "--data", database, "--config", "config.json", "--out", "run", "--steps", 4, status=2)
    assert "cut short" in result.stderr
    assert (sr.folder / "run/checkpoint.safetensors").read_bytes() == before[: len(before) // 2]
