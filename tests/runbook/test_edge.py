"""Where memory ends a sweep, on a small Mac and on a large one."""

import textwrap

import pytest
import slices

# Two hundred megabytes a sample on the device, of which next to nothing is touched: this machine need not have them.
# From 512 MiB on a buffer has a heap of its own, so that memory is a line.
SCRIPT = textwrap.dedent("""
    import argparse, torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int)
    batch = parser.parse_args().batch_size
    weight = torch.nn.Parameter(torch.ones(1, device="mps"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(30):
        picture = torch.empty(batch, 50_000_000, device="mps")
        (picture[0, 0] * weight).sum().backward()
        optimizer.step()
        del picture
""")
LOW = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.3", "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0.0"}


@pytest.fixture
def sweep(lab):
    path = lab.folder / "train.py"
    path.write_text(SCRIPT)

    def run(mac: str, start: int, to: int) -> dict:
        options = ("--mac", mac, "--batch-arg", "--batch-size", "--from", start, "--to", to)
        short = ("--steps", 3, "--warm-up", 1, "--verify-steps", 5)
        return lab.document("sweep", *options, *short, script=path, **LOW)

    return run


@pytest.mark.sliced
def test_the_edge_of_a_small_mac_is_found(sweep):
    document = sweep("m1-16gb", 16, 64)
    (series,) = document["series"]
    edge = series["edge"]
    assert edge["extrapolated"] is False
    (limit,) = {point["limit_bytes"] for point in series["points"] if point["outcome"] == "ran"}
    # To the last sample.
    assert edge["largest_good"] == pytest.approx(limit / 200_000_000, rel=0.06)
    bad = next(point for point in series["points"] if point["batch"] == edge["smallest_bad"])
    assert bad["outcome"] == "out of memory"
    recommended = next(point for point in series["points"] if point["batch"] == series["recommended"]["batch"])
    assert recommended["peak_bytes"] <= 0.85 * limit


@pytest.mark.skipif(not slices.whole(), reason="make test SLICE=1/1 runs it")
def test_on_a_large_mac_the_edge_moves(sweep):
    small = sweep("m1-16gb", 4, 8)["series"][0]["edge"]
    large = sweep("m1max-64gb", 4, 8)["series"][0]["edge"]
    assert small["extrapolated"] and large["extrapolated"]
    assert 3 < large["largest_good"] / small["largest_good"] < 6
