"""Blocks of guides for Macs run as they are written. The guides are not part of the product: without them, skipped."""

import pathlib
import warnings

import pytest
import torch

GUIDES = pathlib.Path(__file__).parents[3] / "shared" / "seeds"

# By the guide's number: the first line of the block, and the last.
BLOCKS = [
    ("001", 'with torch.mps.profiler.profile(mode="interval"', "output = model(input_tensor)"),
    ("001", "if torch.mps.is_metal_capture_enabled():", "output = model(input_tensor)"),
    ("003", "from torch.profiler import profile, record_function", "print(prof.key_averages()"),
    ("004", "from torch.profiler import profile, ProfilerActivity", "print(prof.key_averages()"),
]


def block(guide: str, first: str, last: str) -> str:
    found = sorted(GUIDES.glob(f"{guide}_*.txt"))
    if not found:
        pytest.skip(f"the guides are not there ({GUIDES})")
    lines = found[0].read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(first))
    end = next(i for i in range(begin, len(lines)) if lines[i].strip().startswith(last))
    return "\n".join(lines[begin : end + 1])


@pytest.mark.parametrize(("guide", "first", "last"), BLOCKS)
@pytest.mark.parametrize("captured", ["0", "1"])
def test_block_runs(guide, first, last, captured, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MTL_CAPTURE_ENABLED", captured)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to("mps")
    names = {"torch": torch, "model": model, "input": torch.ones(4, 8, device="mps")}
    names["input_tensor"] = names["input"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(block(guide, first, last), guide, "exec"), names)
    if "prof" in names:
        assert "Self MPS time total" in capsys.readouterr().out
        assert any(
            event.key == "aten::linear" and event.device_time_total > 0 for event in names["prof"].key_averages()
        )
    if "is_metal_capture_enabled" in first:
        assert len(list(tmp_path.glob("*.gputrace"))) == int(captured)
    else:
        assert "prof" in names or names["output"].shape == (4, 2)
