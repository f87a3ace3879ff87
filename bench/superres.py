"""What `anymps sr` does in a second: its loader beside a folder of PNGs, and its training beside the same in Python.

    python bench/superres.py                 both tables
    python bench/superres.py --rounds 20     a narrower interval
    python bench/superres.py --quality       PSNR of DySample beside PixelShuffle at equal steps, on the CPU

The loader: pairs of pictures out of the database, beside the same pairs as PNGs in two folders, which
bench/cpp/superres_loader.cpp decodes with libpng, in one process that takes turns. The training: `anymps sr train`
beside a Python loop over the same network (tests/superres/networks.py), the same batches' sizes, Adam, clipping and
average, on the same device; each round is a pair of processes in random order, and the figure is the median of the
rounds' ratios with a bootstrap interval. Host time is the processor's, of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cpp_program
import stats

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "superres"))

STEPS = 60
PAIRS = 400  # that the loader reads in a round
SKIPPED = 10  # steps at the beginning that do not count
# Trainings of so many steps; those of plksr take several times as long.
QUALITY = {"edsr": (300, 600, 1200), "plksr": (300, 600)}
SETTINGS = {"network": {"width": 32, "blocks": 6}, "batch": 8, "crop": 24, "validation": 2, "validate_every": 1000}


def python_training(database: str, device: str) -> None:
    """The child: prints the seconds of each step, and the processor's seconds of all."""
    import numpy as np
    import torch
    from networks import network
    from test_pack import records

    torch.manual_seed(0)
    model = network("edsr", 2, 32, 6, 13, "pixelshuffle").to(device)
    average = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, foreach=False)
    pairs = list(records(database))[SETTINGS["validation"] :]
    chance = np.random.default_rng(0)
    crop, seconds = SETTINGS["crop"], []

    def pick():
        high, low = pairs[chance.integers(len(pairs))]
        y, x = (int(chance.integers(side - crop + 1)) for side in low.shape[:2])
        low = low[y : y + crop, x : x + crop]
        high = high[2 * y : 2 * (y + crop), 2 * x : 2 * (x + crop)]
        return [torch.from_numpy(side.astype(np.float32) / 255).permute(2, 0, 1) for side in (low, high)]

    for _ in range(STEPS):
        begin = time.perf_counter()
        lows, highs = (torch.stack(side).to(device) for side in zip(*(pick() for _ in range(8)), strict=True))
        optimizer.zero_grad()
        loss = torch.nn.functional.l1_loss(model(lows), highs)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()
        with torch.no_grad():
            for mine, own in zip(average, model.parameters(), strict=True):
                mine.lerp_(own, 1e-3)
        loss.item()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds, "host": time.process_time()}))


def own_training(folder: Path, database: Path, device: str) -> dict:
    with tempfile.TemporaryDirectory(dir=folder) as out:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            ["anymps", "sr", "train", "--data", database, "--config", folder / "config.json", "--out", out, "--steps",
             str(STEPS), "--device", device, "--log-every", "1", "--quiet"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = [json.loads(line) for line in (Path(out) / "log.jsonl").read_text().splitlines()]
    host = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": [line["seconds"] for line in lines if "loss" in line], "host": host}


def loader(folder: Path, database: Path, rounds: int) -> None:
    """The files are in the system's memory for both sides: what is compared is decoding, not the disk."""
    import numpy as np
    from PIL import Image
    from test_pack import records

    for side in ("high", "low"):
        (folder / side).mkdir()
    for number, pair in enumerate(records(database)):
        for side, pixels in zip(("high", "low"), pair, strict=True):
            Image.fromarray(np.ascontiguousarray(pixels)).save(folder / side / f"{number:06}.png")
    command = [cpp_program.build("bench_superres_loader"), database, folder / "high", folder / "low", str(PAIRS)]
    seconds = {"store": [], "folder": []}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        chance = random.Random(0)
        for seed in range(rounds + 1):
            sums = {}
            for side in chance.sample(sorted(seconds), 2):
                child.stdin.write(f"{side} {seed}\n")
                child.stdin.flush()
                took, sums[side] = child.stdout.readline().split()
                seconds[side].append(float(took))
            assert sums["store"] == sums["folder"]
    taken = {side: values[1:] for side, values in seconds.items()}
    for side, values in taken.items():
        print(f"loader, {side:6} {2 * PAIRS / statistics.median(values):9.0f} images/s")
    ratio = stats.paired_ratio(taken["folder"], taken["store"])
    print(f"loader, store over folder {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]  >= 1.0")


def quality(folder: Path, database: Path) -> None:
    settings = SETTINGS | {"network": {"width": 24, "blocks": 4}, "learning_rate": 2e-3, "ema": 0.98, "validation": 8}
    (folder / "quality.json").write_text(json.dumps(settings))
    print("| network | steps | bicubic | pixelshuffle | dysample |\n|---|---|---|---|---|")
    for network, lengths in QUALITY.items():
        for steps in lengths:
            found = {}
            for upsampler in ("pixelshuffle", "dysample"):
                command = ["anymps", "sr", "train", "--data", database, "--config", folder / "quality.json", "--device",
                           "cpu", "--network", network, "--upsampler", upsampler, "--steps", str(steps), "--out",
                           folder / f"{network}-{upsampler}-{steps}", "--quiet", "--json"]  # fmt: skip
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                found[upsampler] = json.loads(done.stdout)
            one, other = found["pixelshuffle"], found["dysample"]
            print(
                f"| {network} | {steps} | {one['bicubic_psnr']:.2f} | {one['psnr']:.2f} | {other['psnr']:.2f} |",
                flush=True,
            )


def training(folder: Path, database: Path, device: str, rounds: int) -> None:
    sides = {
        "C++": lambda: own_training(folder, database, device),
        "Python": lambda: json.loads(
            subprocess.run(
                [sys.executable, __file__, "--child", database, "--device", device],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        ),
    }
    ratios, rates, hosts = [], {name: [] for name in sides}, {name: [] for name in sides}
    chance = random.Random(0)
    for _ in range(rounds):
        seconds = {}
        for name in chance.sample(sorted(sides), 2):
            result = sides[name]()
            seconds[name] = statistics.median(result["seconds"][SKIPPED:])
            rates[name].append(1 / seconds[name])
            hosts[name].append(result["host"] / STEPS)
        ratios.append(seconds["Python"] / seconds["C++"])
    ratio = stats.grouped_ratio([[value] for value in ratios])
    for name in sides:
        print(f"{device} {name:7} {statistics.median(rates[name]):7.2f} steps/s   "
              f"processor {1e3 * statistics.median(hosts[name]):6.1f} ms a step, start included")  # fmt: skip
    print(f"{device} C++ over Python {ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]  >= 1.0")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--quality", action="store_true", help="the upsamplers' PSNR instead")
    parser.add_argument("--child", metavar="DB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        python_training(options.child, options.device)
        return 0
    from pictures import write_pictures

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pictures(folder / "pictures", 32)
        (folder / "config.json").write_text(json.dumps(SETTINGS))
        database = folder / "pairs.lmdb"
        subprocess.run(["anymps", "sr", "pack", folder / "pictures", database, "--quiet"], check=True)
        if options.quality:
            quality(folder, database)
            return 0
        loader(folder, database, 3 * options.rounds)
        training(folder, database, options.device, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
