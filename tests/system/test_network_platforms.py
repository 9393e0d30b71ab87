"""Every platform is a host of a network that tare made: shaped as host 1 is, and gone with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import TARE
from quiet import Quiet

from tare import platforms
from tare.errors import TareError
from tare.experiment import pipeline, remnants, store
from tare.host import lease, processes
from tare.networks import remnants as networks
from tare.networks.emulator import Emulator

pytestmark = [pytest.mark.system]

#: A fifth of what a guest without hardware support sends on a busy machine.
RATE_BPS = 20_000_000
#: Of a packet on the link, what is payload of TCP.
PAYLOAD = 1448 / 1514
#: One of each way in which an instance joins the network; others repeat one of them.
STACKS = (
    "docker",
    "gvisor",
    "vm",
    *(pytest.param(one, marks=pytest.mark.layers) for one in ("podman", "runc", "nspawn")),
)
EXPERIMENT = """
[experiment]
name = "hosts"
question = "Is it a host?"
trials = {trials}
fingerprint = false
instances = "shared"
[[workload]]
name = "out"
command = ["{iperf3}", "-J", "-t", "2", "-c", "{{host2}}"]
output = "output/{{trial}}.{{worker}}.{{iteration}}.out"
[[workload]]
name = "in"
command = ["{iperf3}", "-J", "-t", "2", "-R", "-c", "{{host2}}"]
output = "output/{{trial}}.{{worker}}.{{iteration}}.out"
[factors]
network = ["rate 20Mbit"]
platform = {platforms}
[network]
serve = ["{iperf3}", "-s", "-B", "{{host}}"]
"""


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root adds interfaces to other namespaces")
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    name = lease.new_name()
    try:
        with remnants.lease(name), Emulator(name, hosts=2) as emulator:
            emulator.look()
    except TareError as error:
        pytest.skip(f"no network can be made here: {error}")


def available(stack: str) -> str:
    found = platforms.availability(stack)
    if not found.works:
        pytest.skip(f"{stack}: {found.why}")
    return stack


def written(folder: Path, stacks: list[str], trials: int) -> Path:
    file = folder / "hosts.toml"
    iperf3 = shutil.which("iperf3")
    file.write_text(EXPERIMENT.format(platforms=json.dumps(stacks), trials=trials, iperf3=iperf3))
    return file


@pytest.mark.parametrize("stack", STACKS)
def test_what_it_sends_and_receives_is_shaped(tmp_path: Path, stack: str) -> None:
    file = written(tmp_path, [available(stack)], trials=1)
    out = tmp_path / "out"
    pipeline.execute(pipeline.prepare(file), out, Quiet())
    results = store.load(out)
    trials = results.trials().set_index("trial")
    assert set(trials["status"]) == {"ok"}
    for trial, row in trials.iterrows():
        said = json.loads((out / "output" / f"{trial}.0.0.out").read_text())
        reached = said["end"]["sum_received"]["bits_per_second"]
        assert reached == pytest.approx(RATE_BPS * PAYLOAD, rel=0.05)
        # It was sent by the host that is shaped, and counted there.
        host = 1 if row["workload"] == "out" else 2
        (sent,) = results.network_use.where(trial=trial, host=host)["sent_bytes"]
        assert sent > said["end"]["sum_received"]["bytes"]
    assert not left(out)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a session, and wait until its instances have done a trial each."""
    stacks = [one for one in ("docker", "gvisor", "vm") if platforms.availability(one).works]
    if not stacks:
        pytest.skip("none of docker, gvisor and vm works here")
    file = written(tmp_path, stacks, trials=50)
    argv = [*TARE, "experiment", "run", str(file), "--out", str(tmp_path / "out")]
    front = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "out" / "journal" / "1.ndjson"
    deadline = time.monotonic() + 120
    done = 0
    while done < 2 * len(stacks):
        assert front.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
        done = journal.read_bytes().count(b'"record":"ended"') if journal.exists() else 0
    name = json.loads(journal.read_text().splitlines()[0])["name"]
    try:
        yield front, name
    finally:
        front.kill()
        front.wait()
        for one in remnants.found():
            if lease.session_of(one.name) == name:
                one.remove()


def test_nothing_is_left_of_ports_when_tare_is_killed(
    tmp_path: Path, session: tuple[subprocess.Popen[bytes], str]
) -> None:
    front, name = session
    front.send_signal(signal.SIGKILL)
    front.wait()
    wait_until(lambda: not left(tmp_path / "out") and not running(name))


def test_ports_are_found_when_their_agent_is_killed_as_well(
    tmp_path: Path, session: tuple[subprocess.Popen[bytes], str]
) -> None:
    front, name = session
    (agent,) = [one for one in processes.named() if one.name == name and "emulate" in one.argv]
    front.send_signal(signal.SIGKILL)
    os.kill(agent.pid, signal.SIGKILL)
    front.wait()
    found = [one for one in networks.found() if one.name.startswith(name)]
    assert len(found) > 3
    for one in found:
        one.remove()
    wait_until(lambda: not left(tmp_path / "out") and not running(name))


def wait_until(done: Any) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(name: str) -> list[str]:
    """Return processes of a session, among them QEMU's and those of containers."""
    return [" ".join(one.argv) for one in processes.named() if one.name.startswith(name)]


def left(folder: Path) -> list[str]:
    """Return the network namespaces of an experiment's sessions."""
    lines = (path.open().readline() for path in (folder / "journal").iterdir())
    names = [json.loads(line)["name"] for line in lines]
    found = Path("/run/netns")
    there = [path.name for path in found.iterdir()] if found.exists() else []
    return [one for one in there if any(one.startswith(name) for name in names)]
