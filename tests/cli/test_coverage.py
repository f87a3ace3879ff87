"""`anymps coverage`: in which releases of PyTorch an operator runs on MPS."""

import json

import pytest


def test_a_row(call):
    answer = call("coverage", "grid_sampler_3d")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines()[0].split(maxsplit=1) == [
        "grid_sampler_3d",
        "refused in 2.7.0 to 2.8.0; a kernel of its own since 2.9.0",
    ]


def test_names_as_programs_have_them(call):
    rows = {}
    for written in ("torch.linalg.svd", "aten::linalg_svd", "linalg_svd"):
        rows[written] = call("coverage", written).stdout
    assert len(set(rows.values())) == 1
    assert "linalg_svd    on the CPU, without being asked in 2.7.0 to 2.13.0" in rows["linalg_svd"]
    assert "gelu " in call("coverage", "torch.nn.functional.gelu").stdout
    assert call("coverage", "add.Tensor").stdout.count("\n") == 1
    assert call("coverage", "Tensor.add").stdout.count("\n") > 1


def test_a_release(call):
    lacking = call("coverage", "--lacking", "2.8", "--json")
    operators = json.loads(lacking.stdout)["operators"]
    assert {routes["2.8.0"] for routes in operators.values()} == {"refused"}
    assert operators["grid_sampler_3d"]["2.9.0"] == "kernel"
    new = json.loads(call("coverage", "--new", "2.14", "--json").stdout)["operators"]
    assert "_linalg_eigh" in new and "grid_sampler_3d" not in new


def test_what_is_not_known(call):
    answer = call("coverage", "torch.linalg.svdd")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.endswith("; the nearest is `linalg_svd`\n")
    for words in (("--lacking", "2.6"), ("--new", "2.7"), ("--lacking", "2")):
        answer = call("coverage", *words)
        assert answer.returncode == 2 and "no release of PyTorch" in answer.stderr and "2.15.0" in answer.stderr
    assert call("coverage").returncode == 2


@pytest.mark.sliced
def test_a_script_on_an_older_release(call, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "grid = torch.zeros(1, 2, 2, 2, 3, device='mps')\n"
        "print(torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2, 2, device='mps'), grid).sum().item())\n"
    )
    assert call("run", "--quiet", script).returncode == 0
    answer = call("run", "--quiet", "--as-torch", "2.8", script)
    assert answer.returncode == 1
    assert "The operator 'aten::grid_sampler_3d' is not currently implemented for the MPS device" in answer.stderr
    # As 2.8.0 says it, which names its own commit.
    assert "commit hash a1cb3cc05d46d198467bebbb6e8fba50a325d4e7" in answer.stderr
    assert call("run", "--quiet", "--as-torch", "2.8", "--fallback", script).returncode == 0
    assert call("run", "--quiet", "--as-torch", "2.9", script).returncode == 0


def test_no_such_release(call):
    answer = call("run", "--as-torch", "3.1", "true")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert "no release of PyTorch `3.1` is known; there are 2.7.0, " in answer.stderr


def test_a_composite_whose_part_is_refused(call):
    (row, _) = call("coverage", "torch.linalg.eigvals").stdout.splitlines()
    assert row.endswith("; it calls _linalg_eigvals: refused in all of 2.7.0 to 2.15.0")
    assert "some calls use _linalg_svd: refused in 2.7.0 to 2.13.0" in call("coverage", "linalg.norm").stdout
    lacking = json.loads(call("coverage", "--lacking", "2.8", "--json").stdout)["operators"]
    assert lacking["linalg_eigvals"]["2.13.0"] == "refused"
    assert (lacking["max_pool3d"]["2.8.0"], lacking["max_pool3d"]["2.9.0"]) == ("refused", "composite")
    assert "linalg_norm" not in lacking  # which most calls of do without


def test_what_an_upgrade_changes(call):
    answer = call("coverage", "--diff", "2.13", "2.15", "--json")
    difference = json.loads(answer.stdout)
    assert (difference["from"], difference["to"]) == ("2.13.0", "2.15.0")
    changed = difference["operators"]
    assert changed["qr"] == {"change": "removed", "from": "composite", "to": "none"}
    assert changed["cholesky"] == {"change": "removed", "from": "kernel", "to": "none"}
    assert changed["linalg_svd"] == {"change": "gained", "from": "fallback", "to": "composite"}
    assert changed["linalg_polar"] == {"change": "gained", "from": "none", "to": "kernel"}
    assert changed["linalg_matrix_sqrth"] == {"change": "new_refused", "from": "none", "to": "refused"}
    assert "mm" not in changed and "_grouped_mm" not in changed  # which ran before, of other operators
    for rows in difference["refusals"].values():
        assert all(set(row) == {"operators", "when", "exception", "text"} for row in rows)

    screen = call("coverage", "--diff", "2.13", "2.15").stdout
    removed = screen.partition("No longer in PyTorch (2)\n")[2].splitlines()[0]
    assert removed.split(", ") == ["  cholesky", "qr"]
    assert "New in PyTorch, not on MPS" in screen and "beneath other operators: " in screen


def test_overloads_are_named_where_others_stay(call):
    """2.13 went without named tensors, and kept the rest of these functions."""
    removed = call("coverage", "--diff", "2.12", "2.13").stdout.partition("No longer in PyTorch")[2].splitlines()[1]
    names = removed.strip().split(", ")
    assert "all.dimname" in names and "align_to" in names and "all" not in names


PAIRS = (("2.13", "2.15"), ("2.15", "2.13"))


def test_a_downgrade_is_its_mirror(call):
    there, back = (json.loads(call("coverage", "--diff", *pair, "--json").stdout) for pair in PAIRS)
    assert back["operators"]["linalg_svd"] == {"change": "lost", "from": "composite", "to": "fallback"}
    assert back["operators"]["qr"]["change"] == "gained"
    assert (there["refusals"]["new"], there["refusals"]["gone"]) == (back["refusals"]["gone"], back["refusals"]["new"])


def test_what_is_not_known_of_old_releases_is_said(call):
    assert json.loads(call("coverage", "--diff", "2.8", "2.15", "--json").stdout)["refusals"] is None
    assert "known from 2.11 on" in call("coverage", "--diff", "2.8", "2.15").stdout
    assert call("coverage", "--diff", "2.14.0", "2.14.0").stdout.endswith("\nno operator changed\n")


def test_a_difference_is_of_two_releases(call):
    assert "no release of PyTorch `3.1` is known" in call("coverage", "--diff", "2.13", "3.1").stderr
    assert call("coverage", "--diff", "2.13").returncode == 2
    answer = call("coverage", "--diff", "2.13", "2.15", "add")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
