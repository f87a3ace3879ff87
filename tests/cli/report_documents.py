"""Documents as the commands of the runbook print them, made by hand, and a logbook to put them into."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

COMMAND = ["python", "train.py", "--epochs", "3", "--batch-size", "8"]
GIB = 1 << 30
# What would run, load something or break out of its place, were it not escaped.
EVIL = "</script></svg><img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>'\"&"


def document(verb: str, verdict: str = "good", facts: dict | None = None, **fields) -> dict:
    status = {"good": 0, "bad": 1}.get(verdict, 2)
    facts = {"torch": "2.13.0", "commit": "4f2c9ab", "resolution": "224x224", "fallback": False} | (facts or {})
    common = {
        "version": 1,
        "run": 0,
        "verb": verb,
        "verdict": verdict,
        "status": status,
        "command": COMMAND,
        "facts": facts,
    }
    return common | {"samples": [{"at": "2026-11-17T02:20:48Z", "swap": {"total_bytes": 0, "used_bytes": 0}}]} | fields


def doctor(states: dict[str, str] | None = None) -> dict:
    gates = {
        "architecture": "arm64",
        "is_built": "yes",
        "is_available": "yes",
        "matmul": "on mps, 0.0e+00 from the CPU's",
        "power adapter": "connected",
    }
    states = states or {}
    rows = [
        {
            "name": name,
            "state": states.get(name, "green"),
            "value": value,
            "why": f"what {name} has to do with it",
            "remedy": "" if states.get(name, "green") == "green" else f"see to {name}",
        }
        for name, value in gates.items()
    ]
    return document("doctor", "good" if not states else "bad", gates=rows, strict=False, command=[])


def sweep(mac: str | None = None, room_gib: float = 10.7, largest: int = 64, **fields) -> dict:
    points = []
    batch = 2
    while batch <= largest:
        speed = 420 * batch / (batch + 14)
        peak = (0.55 + 0.135 * batch) * GIB
        points.append(
            {
                "batch": batch,
                "outcome": "ran",
                "why": "",
                "output": "",
                "samples_per_second": speed,
                "samples_low": speed * 0.95,
                "samples_high": speed * 1.04,
                "step_seconds": batch / speed,
                "first_step_seconds": 4.2 * batch / speed,
                "steady_steps": 50,
                "peak_bytes": int(peak),
                "resident_bytes": int(peak) + GIB,
                "limit_bytes": int(room_gib * GIB),
                "watermark_share": int(peak) / int(room_gib * GIB),
                "first_over_steady": (4.2 * batch / speed) / (batch / speed),
            }
        )
        batch *= 2
    failed = dict.fromkeys(points[0], 0) | {
        "batch": batch,
        "outcome": "out of memory",
        "limit_bytes": int(room_gib * GIB),
    }
    failed |= {"why": "MPS backend out of memory", "output": "", "first_over_steady": None}
    points.append(failed)
    series = {
        "axes": {"workers": "0"},
        "points": points,
        "knee": {
            "batch": 16,
            "samples_per_second": 224.0,
            "why": "twice the batch gives 19% more samples a second from here",
        },
        "edge": {"largest_good": largest, "smallest_bad": batch, "extrapolated": False, "why": "the driver refused"},
        "recommended": {
            "batch": largest // 2,
            "margin": 0.2,
            "verified_steps": 200,
            "peak_bytes": int((0.55 + 0.135 * largest / 2) * GIB),
            "samples_per_second": 300.0,
            "why": "a fifth below the edge",
        },
        "notes": [],
    }
    buffer = int(room_gib * GIB * 0.75) if mac else None
    known = {"argument": "--batch-size", "mac": mac, "max_buffer_bytes": buffer}
    return document("sweep", **known, series=[series], notes=["One worker."]) | fields


def plateau(grows: bool = False, **fields) -> dict:
    rise = 38 << 20 if grows else 40_000
    epochs = [
        {
            "index": epoch,
            "tensor_bytes": (410 << 20) + epoch * rise + (epoch % 3) * (1 << 19),
            "flushed_bytes": (405 << 20) + epoch * rise,
            "driver_bytes": (1400 << 20) + epoch * rise,
            "resident_bytes": (2100 << 20) + epoch * rise,
            "seconds": 12.5,
            "steps": 60,
        }
        for epoch in range(1, 11)
    ]
    sites = [{"site": "train.py:41", "bytes_per_epoch": rise, "count_per_epoch": 60, "example": "float32 [64, 1000]"}]
    sites.append({"site": "train.py:9", "bytes_per_epoch": rise // 50, "count_per_epoch": 2, "example": "float32 [9]"})
    return (
        document(
            "plateau",
            "bad" if grows else "good",
            epochs=epochs,
            measure="tensors",
            slope={"bytes_per_epoch": rise, "low": rise * 0.86 - 60_000, "high": rise * 1.12 + 60_000},
            rise_share=9 * rise / (410 << 20),
            threshold=0.26,
            grows=grows,
            simulated=False,
            steps=600,
            sites=sites if grows else [],
            notes=[],
        )
        | fields
    )


def parity() -> dict:
    def row(name: str, kind: str, ulps: int, random: bool = False) -> dict:
        sizes = {"max_ulps": ulps, "max_relative": ulps * 6e-8, "max_absolute": ulps * 1e-8, "elements": 4096}
        sizes |= {"max_element_relative": ulps * 6e-8}
        judged = {"not_finite": 0, "limit": 1e-3, "over": False, "random": random}
        return {"name": name, "kind": kind, "dtype": "float32"} | sizes | judged

    steps = [
        {
            "step": step,
            "loss": 2.3 * 0.93**step * (1 + 1e-7 * 1.6**step),
            "reference_loss": 2.3 * 0.93**step,
            "relative": 1e-7 * 1.6**step,
            "ulps": int(2 * 1.6**step),
        }
        for step in range(20)
    ]
    layers = [row("features.0", "Conv2d", 3), row("head", "Linear", 12), row("drop", "Dropout", 10**6, random=True)]
    dtypes = {"weight": "float32", "output": "float16", "statistics": "", "gradient": "float32"}
    comparison = {
        "device": "mps",
        "outcome": "ran",
        "why": "",
        "output": "",
        "layers": layers,
        "gradients": [row("head.weight", "Linear", 40)],
        "steps": steps,
        "drift": None,
        "random_from": None,
        "findings": [],
    }
    kernel = {"operator": "aten::gelu", "kernel": "gelu_float", "elements": 64, "max_ulps": 2, "max_relative": 1e-7}
    return document(
        "parity",
        reference="cpu",
        seed=1,
        no_dropout=False,
        findings=[],
        comparisons=[comparison],
        dtype_policy=[{"kind": "Conv2d", "disagree": False} | dtypes],
        metric={"name": "accuracy", "tolerance": 0.01, "values": {"cpu": 0.914, "mps": 0.912}, "within": True},
        table={"path": "parity.json", "updated": False, "slack": 2.0, "changed": ["head: 12 ulps, 4 before"]},
        genuine=[kernel | {"not_finite": 0}],
        notes=["On this machine mps runs the CPU's kernels."],
    )


def profile() -> dict:
    shares = {"input": 0.46, "host": 0.12, "device": 0.29, "waiting": 0.1, "fallback": 0.03}
    operators = [
        {"name": f"aten::op{i}", "count": 50 * i, "self_seconds": s, "queued_seconds": s / 3, "waited_seconds": w}
        for i, (s, w) in enumerate([(0.2, 0.01), (0.9, 0.1), (0.01, 0.6)], 1)
    ]
    workers = [
        {
            "workers": n,
            "outcome": "ran",
            "batch_seconds": 0.04 / (n + 1),
            "descriptors": 30 + 9 * n,
            "resident_bytes": GIB,
        }
        for n in range(4)
    ]
    return document(
        "profile",
        "bad",
        window={"warm_up": 10, "steps": 50},
        full={
            "step_seconds": 0.088,
            "step_low": 0.085,
            "step_high": 0.093,
            "first_step_seconds": 0.6,
            "window_seconds": 4.4,
            "steps": 50,
            "samples_per_step": 8.0,
            "input_share": 0.46,
            "peak_bytes": 2 * GIB,
            "device": "mps",
            "simulated": False,
            "epoch_window": "steps 10 to 60",
            "waits": [],
            "shares": shares,
            "first_epoch_step_seconds": 0.31,
            "steady_step_seconds": 0.087,
        },
        data={
            "batch_seconds": 0.041,
            "stages": {"storage": 0.004, "decode": 0.022, "augment": 0.009, "collate": 0.005, "other": 0.001},
            "others": [],
        },
        modelled=None,
        simulated=False,
        forward={"seconds": 0.019},
        operators=operators,
        waits=[{"name": "aten::item", "site": "train.py:31", "count": 50, "seconds": 0.6}],
        fallbacks=[{"name": "aten::poisson", "site": "train.py:12", "count": 3}],
        workers=workers,
        story="The device waits for the loader: 46% of a step is input, most of it decoding.",
        notes=[],
    )


def decide() -> dict:
    symptoms = [
        {
            "symptom": symptom,
            "hypothesis": hypothesis,
            "action": action,
            "applies": symptom == "Speedup near 1x",
            "evidence": "run 3" if symptom == "Speedup near 1x" else "",
        }
        for symptom, hypothesis, action in (
            ("Fast start then cliff", "Cache pressure", "Lower batch; epoch flush"),
            ("One layer slow", "Kernel gap", "Profiler; swap ops"),
            ("Loss drift", "Reduction dtype", "Align dtypes"),
            ("Speedup near 1x", "Sync points", "Profiler; async copies"),
            ("OOM patterns", "Dynamic graph chains", "Segment; empty_cache"),
            ("Multi-process oddities", "MPS multiprocess limits", "Single process or remote"),
        )
    ]
    measured = profile()
    common = document("profile")
    return document(
        "decide",
        profile={name: value for name, value in measured.items() if name not in common},
        simulated=False,
        decision={
            "outcome": "fix the data plane and the batch first",
            "why": "MPS is 15% faster than the CPU, below the 22%.",
            "options": ["anymps profile", "anymps sweep"],
        },
        evidence=[{"text": "46% of a step is input", "run": 3}, {"text": "the device is busy 12% of it", "run": 3}],
        candidates=[
            {"name": "cpu", "ran": True, "step_seconds": 0.101, "simulated": False, "note": ""},
            {"name": "mps", "ran": True, "step_seconds": 0.088, "simulated": True, "note": ""},
            {"name": "mlx", "ran": False, "step_seconds": None, "simulated": False, "note": "not installed"},
        ],
        thresholds=[
            {"name": "speedup over the CPU", "value": 0.15, "limit": 0.22, "exceeded": True},
            {"name": "memory over ten epochs", "value": 0.01, "limit": 0.26, "exceeded": False},
        ],
        holding_back=[{"operator": "aten::item", "seconds": 0.6, "reason": "waits for the device"}],
        symptoms=symptoms,
        rejected=[{"text": "a larger batch helps", "why": "the knee is at 16", "at": "2026-11-16T10:00:00Z"}],
        notes=[],
    )


def handoff() -> dict:
    differences = [{"kind": "package", "name": "numpy", "here": "2.1.0", "there": "1.26.4", "severity": "yellow"}]
    golden = {"words": COMMAND[1:], "folder": "files", "given": COMMAND, "owner": "ada"}
    golden |= {"date": "2026-11-16T10:00:00Z", "commit": "4f2c9ab", "modified": False}
    bundle = {"bundle": "run.tar.zst", "sha256": "ab" * 32, "files": 12, "into": None, "golden": golden}
    return document("handoff verify", "bad", differences=differences, notes=[], **bundle)


def put(logbook: Path, *documents: dict, folder: str = "/home/me", state: str = "done") -> None:
    """Appends finished runs; each document gets the number of its run."""
    connection = sqlite3.connect(logbook)
    with connection:
        for one in documents:
            columns = (
                "INSERT INTO runs (verb, key, state, verdict, started, ended, command, folder, pid, facts) "
                "VALUES (?, ?, ?, ?, '2026-11-17T02:20:48Z', '2026-11-17T02:30:48Z', ?, ?, 0, ?)"
            )
            key = json.dumps([one["command"], one.get("mac")])
            texts = (json.dumps(one["command"]), folder, json.dumps(one["facts"]))
            run = connection.execute(columns, (one["verb"], key, state, one["verdict"], *texts)).lastrowid
            text = json.dumps(one | {"run": run}) if state == "done" else None
            connection.execute("UPDATE runs SET document = ? WHERE id = ?", (text, run))
    connection.close()
