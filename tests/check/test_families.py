"""Three of the model families and two of the optimisers; `make test-full` runs all that the lists name."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest
import slices

HERE = pathlib.Path(__file__).parent


GATING = ["llama", "wav2vec2", "segformer", "adagrad-fused"]


@pytest.mark.parametrize("name", [*GATING, "adamw-fused"] if slices.whole() else GATING)
def test_what_a_mac_refuses_is_found_and_nothing_else(name):
    if name in ("llama", "wav2vec2", "segformer") and importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    ended = subprocess.run([sys.executable, HERE / "families.py", name], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.rstrip("\n").endswith("as expected")
    assert ("_ctc_loss" in ended.stdout) == (name == "wav2vec2")
    assert ("_fused_adagrad_" in ended.stdout) == (name == "adagrad-fused")
