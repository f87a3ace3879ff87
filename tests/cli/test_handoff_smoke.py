"""`anymps handoff smoke` against a real sshd on loopback, which the tests start themselves."""

import contextlib
import getpass
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import time

import pytest

TRAINING = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [torch.randn(4, 8) for _ in range(6)]
for epoch in range(8):
    for batch in torch.utils.data.DataLoader(data, batch_size=2):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
"""
LEAKING = TRAINING.replace(
    "    for batch", "    model.kept = [*getattr(model, 'kept', []), torch.ones(16 << 20)]\n    for batch"
)
HERE = f"{getpass.getuser()}@127.0.0.1"
FAILING = "raise SystemExit('the weights are not here')\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The ssh command that reaches it."""
    sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if sshd is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no sshd here")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPasswordAuthentication no\nPermitRootLogin yes\n"
    )
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # which sshd insists on
    log = (folder / "log").open("w")
    child = subprocess.Popen([sshd, "-f", folder / "config", "-D", "-e"], stderr=log, stdin=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if child.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    if child.poll() is not None:
        pytest.skip("sshd does not start here: " + (folder / "log").read_text())
    options = "-F none -o StrictHostKeyChecking=no -o LogLevel=ERROR"
    yield f"ssh -p {port} -i {folder}/user_key {options} -o UserKnownHostsFile={folder}/known"
    child.terminate()
    child.wait()
    log.close()


def log_local_run(logbook, command):
    """As if a profile had seen a step of a microsecond here, on another processor."""
    document = {"full": {"step_seconds": 1e-6, "shares": {"input": 0.0}}}
    facts = {"machine": {"architecture": "arm64", "cpu": "abacus", "cores": 1, "memory_bytes": 1}, "load": 0}
    with contextlib.closing(sqlite3.connect(logbook)) as database, database:
        database.execute(
            "INSERT INTO runs (verb, key, state, verdict, started, command, folder, pid, facts, document)"
            " VALUES ('profile', '', 'done', 'good', '', ?, '', 0, ?, ?)",
            [json.dumps(command), json.dumps(facts), json.dumps(document)],
        )


@pytest.fixture
def smoke(call, server, tmp_path):
    """Packs a script, and runs it there."""

    def smoke_script(text, *words, host=HERE, python=sys.executable, **variables):
        variables["ANYMPS_LOGBOOK"] = str(tmp_path / "logbook.sqlite")
        if not (tmp_path / "train.tar.zst").exists():
            (tmp_path / "train.py").write_text(text)
            command = ("--", sys.executable, "train.py")
            made = call("handoff", "pack", "-o", "train.tar.zst", "--owner", "ada", *command, **variables)
            assert made.returncode == 0, made.stderr
            log_local_run(tmp_path / "logbook.sqlite", command[1:])
        remote = ("--ssh", server, "--python", python, "--folder", str(tmp_path / "there"))
        return call("handoff", "smoke", host, "train.tar.zst", *remote, *words, **variables)

    return smoke_script


@pytest.mark.sliced
def test_figures_come_back(smoke, tmp_path):
    words = ("--warm-up", "2", "--steps", "10", "--epochs", "6", "--json")
    answer = smoke(TRAINING, *words, OMP_NUM_THREADS="1")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert document["verb"] == "handoff smoke" and document["copied"]
    assert 0 < document["rtt_seconds"] < 10
    assert document["figures"]["steps"] == 10 and document["figures"]["steps_per_second"] > 0
    assert document["figures"]["peak_bytes"] > 10 << 20
    assert document["figures"]["batch"] == 2 and document["figures"]["workers"] == 0
    assert len(document["plateau"]["epochs"]) == 6 and document["plateau"]["holds"] is True
    assert document["environment"]["variables"]["OMP_NUM_THREADS"] == "1"
    assert document["facts"]["host"].endswith("@127.0.0.1") and document["facts"]["machine"]["cores"] == os.cpu_count()
    assert document["facts"]["artifact_store"]["rtt_seconds"] == document["rtt_seconds"]
    assert document["local"]["verb"] == "profile" and 0 < document["speed_ratio"] < 1
    assert "hardware" in {cause["cause"] for cause in document["explanation"]}
    # The bundle is there now, and whole; nothing else is left behind.
    assert (tmp_path / "there" / "files" / "train.py").read_text() == TRAINING
    assert not list((tmp_path / "tmp").glob("anymps-*"))


@pytest.mark.sliced
def test_memory_that_rises_there(smoke):
    answer = smoke(LEAKING, "--warm-up", "2", "--steps", "4", "--epochs", "6", "--json")
    assert answer.returncode == 1, answer.stderr
    document = json.loads(answer.stdout)
    assert document["verdict"] == "bad"
    assert document["plateau"]["holds"] is False
    assert document["plateau"]["rise_share"] > 0.26


def test_a_script_that_fails_there(smoke):
    answer = smoke(FAILING)
    assert answer.returncode == 2 and answer.stdout == ""
    assert "the weights are not here" in answer.stderr and answer.stderr.count("\n") <= 2


def test_hosts_that_do_not_do(smoke, tmp_path):
    answer = smoke(TRAINING, host="nobody-of-that-name@127.0.0.1")
    assert answer.returncode == 2 and "it cannot be reached" in answer.stderr, answer.stderr
    assert smoke(TRAINING, host="-oProxyCommand=touch escaped").returncode == 2
    assert not (tmp_path / "escaped").exists()
    answer = smoke(TRAINING, python="/no/such/python")
    assert answer.returncode == 2 and "cannot be run" in answer.stderr
    # Somebody else's folder is not touched.
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    answer = smoke(TRAINING)
    assert answer.returncode == 2 and "does not hold this bundle" in answer.stderr
    assert os.listdir(tmp_path / "there") == ["mine"]
