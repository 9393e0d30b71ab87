"""Trials in a real network of two hosts: budgets fall, and are given back or carried over."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cli import TARE
from quiet import Quiet

from tare.errors import AgentError, TareError, TrialError
from tare.experiment import pipeline, remnants, store
from tare.experiment.results import Results
from tare.host import lease
from tare.networks.emulator import Emulator
from tare.render.words import sentence
from tare.results.message import message

pytestmark = [pytest.mark.system]

SERVER = """
import socket, sys
door = socket.socket()
door.bind((sys.argv[1], 5001))
door.listen()
while True:
    peer, _ = door.accept()
    while peer.recv(1 << 20):
        pass
    peer.close()
"""
CLIENT = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 5001))
peer.sendall(bytes(int(sys.argv[2])))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
"""
#: Sent in every trial: 32 Mbit and headers of a budget of 50 Mbit.
BYTES, BUDGET = 4_000_000, 50_000_000
EXPERIMENT = """
[experiment]
name = "network"
question = "What does a budget do to a client?"
trials = {trials}
fingerprint = false
order = "sequential"
[[workload]]
command = ["{python}", "{folder}/client.py", "{{host2}}", "{bytes}"]
[factors]
network = ["none", "small"]
platform = {platforms}
[networks.small]
spec = "bucket high=1Gbit low=200Mbit budget=50Mbit refill={refill}"
[network]
serve = ["{python}", "{folder}/server.py", "{{host}}"]
{network}
"""


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    name = lease.new_name()
    try:
        with remnants.lease(name), Emulator(name, hosts=2) as emulator:
            emulator.look()
    except TareError as error:
        pytest.skip(f"no network can be made here: {error}")


def written(folder: Path, network: str, **changes: Any) -> Path:
    given = {"trials": 3, "platforms": '["bare"]', "refill": "1Mbit", **changes}
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(CLIENT)
    file = folder / "network.toml"
    file.write_text(
        EXPERIMENT.format(
            folder=folder, python=shutil.which("python3"), bytes=BYTES, network=network, **given
        )
    )
    return file


def run(folder: Path, network: str, resume: bool = False, **changes: Any) -> Results:
    file = folder / "network.toml" if resume else written(folder, network, **changes)
    pipeline.execute(pipeline.prepare(file), folder / "out", Quiet(), resume=resume)
    assert not left(folder / "out")
    return store.load(folder / "out")


def left(folder: Path) -> list[str]:
    """Return the network namespaces of an experiment's sessions."""
    lines = (path.open().readline() for path in (folder / "journal").iterdir())
    names = [json.loads(line)["name"] for line in lines]
    found = Path("/run/netns")
    there = [path.name for path in found.iterdir()] if found.exists() else []
    return [one for one in there if any(one.startswith(name) for name in names)]


def uses(results: Results, level: str, host: int = 1) -> pd.DataFrame:
    trials = results.trials()[["trial", "network", "status"]]
    rows = results.network_use.frame().merge(trials, on="trial")
    assert set(rows["status"]) == {"ok"}
    return rows[(rows["network"] == level) & (rows["host"] == host)].reset_index(drop=True)


def test_a_budget_is_given_back_before_every_trial(tmp_path: Path) -> None:
    results = run(tmp_path, "", platforms='["bare", "unshare"]', trials=2)
    spent, none = uses(results, "small"), uses(results, "none")
    assert spent["tokens_start_bits"].tolist() == [BUDGET] * 4
    assert none["tokens_start_bits"].isna().all()
    for rows in (spent, none):
        assert (rows["sent_bytes"] > BYTES).all()
    # What was spent is what was sent, but for what came back meanwhile.
    came_back = spent["tokens_end_bits"] - BUDGET + 8 * spent["sent_bytes"]
    assert ((came_back >= -8 * 70_000) & (came_back < 10_000_000)).all()
    # The server alone answers, with little.
    assert (uses(results, "small", 2)["sent_bytes"] < BYTES / 10).all()
    assert results.values("network_sent_bytes", "qdisc")["value"].min() > BYTES
    for _, of_trial in results.network_log.where(host=1).groups("trial"):
        sent = of_trial["sent_bytes"].tolist()
        assert sent == sorted(sent)
        assert sent[0] == 0
        assert sent[-1] > BYTES


def test_a_carried_budget_falls_until_it_is_dry(tmp_path: Path) -> None:
    spent = uses(run(tmp_path, 'budget = "carry"'), "small")
    begun, ended = spent["tokens_start_bits"], spent["tokens_end_bits"]
    assert begun[0] == BUDGET
    # Within what comes back between a look and the next.
    assert abs(begun[1] - ended[0]) < 1_000_000
    assert spent["first_dry_ns"].isna().tolist() == [True, False, False]
    assert (spent["dry_ns"][1:] > 0).all()


def test_with_a_rest_every_trial_begins_with_full_buckets(tmp_path: Path) -> None:
    results = run(tmp_path, 'budget = "carry"\nrest = "refill"', trials=2, refill="40Mbit")
    assert uses(results, "small")["tokens_start_bits"].min() > 0.99 * BUDGET


def test_a_server_that_ends_fails_the_trials_with_its_last_words(tmp_path: Path) -> None:
    file = written(tmp_path, "", trials=2)
    # It resets the first connection, so that not even the first trial can be good.
    reset = "peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))"
    ends = f"{reset}\n    peer.close()\n    sys.exit('that was enough')\n    while peer.recv"
    (tmp_path / "server.py").write_text(SERVER.replace("while peer.recv", ends))
    with pytest.raises(TrialError, match=r"on host 2 has ended.*that was enough"):
        pipeline.execute(pipeline.prepare(file), tmp_path / "out", Quiet())
    trials = store.load(tmp_path / "out").trials()
    assert trials["reason"].iloc[-1].startswith("the server ")
    assert not left(tmp_path / "out")


@pytest.mark.skipif(os.geteuid() != 0, reason="looks for what root's sessions leave")
def test_nothing_is_left_of_a_killed_session_which_goes_on_later(tmp_path: Path) -> None:
    file = written(tmp_path, 'budget = "carry"', trials=4)
    argv = [*TARE, "experiment", "run", str(file), "--out", str(tmp_path / "out")]
    front = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "out" / "journal" / "1.ndjson"
    deadline = time.monotonic() + 60
    while not (journal.exists() and b"network_use" in journal.read_bytes()):
        assert front.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    front.send_signal(signal.SIGKILL)
    front.wait()
    remnants.cleanup()
    assert not left(tmp_path / "out")
    assert not serving(tmp_path)
    results = run(tmp_path, "", resume=True)
    ended = results.trials()[results.trials()["status"] == "ok"]
    assert (ended.groupby("cell").size() == 4).all()
    assert (
        sentence(
            message(
                "budgets are carried from trial to trial, but this session continues an earlier "
                "one: in it, every level began with its initial budget again"
            )
        )
        in results.notes
    )


def test_a_network_whose_emulator_is_killed_ends_the_session_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, "", trials=1000)
    argv = [*TARE, "experiment", "run", str(file), "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as front:
        journal = tmp_path / "out" / "journal" / "1.ndjson"
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b'"ended"') > 2):
            assert front.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        children = Path(f"/proc/{front.pid}/task/{front.pid}/children").read_text().split()
        (emulator,) = [
            child for child in children
            if b"\0emulate\0" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]  # fmt: skip
        os.kill(int(emulator), signal.SIGKILL)
        _, said = front.communicate(timeout=60)
    assert front.returncode == AgentError.exit_code
    assert "emulates the network is gone" in said
    assert "--resume" in said
    remnants.cleanup()
    statuses = store.load(tmp_path / "out").trials()["status"].tolist()
    assert statuses == [*["ok"] * (len(statuses) - 1), "failed"]


def serving(folder: Path) -> list[str]:
    """Return processes that run the test's server."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder / "server.py").encode() in words:
                found.append(entry.name)
    return found


def test_two_commands_are_compared_with_equal_budgets(tmp_path: Path) -> None:
    """The second would find an empty bucket if it had what the first left."""
    written(tmp_path, "")
    client = f"{sys.executable} {tmp_path}/client.py {{host2}} {BYTES}"
    spec = "bucket high=1Gbit low=200Mbit budget=50Mbit refill=1Mbit"
    words = [*TARE, "compare", "--network", spec, "-n", "4", "--no-fingerprint",
             "--serve", f"{sys.executable} {tmp_path}/server.py {{host}}",
             "--name", "one", "--name", "other", "--out", "kept", "--json", "-",
             client, f"{client} again"]  # fmt: skip
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["network"]
    assert told["specification"] == spec
    assert (told["hosts"], told["budget"]) == (2, "reset")
    assert {name: (c["trials"], c["trials_dry"]) for name, c in told["commands"].items()} == {
        "one": (4, 0), "other": (4, 0),
    }  # fmt: skip
    for command in told["commands"].values():
        assert BYTES < command["sent_bytes"] < 1.1 * BYTES
    use = store.load(tmp_path / "kept").network_use
    assert list(use["tokens_start_bits"]) == [BUDGET] * len(use)
    assert len(use) == 2 * 2 * 4
