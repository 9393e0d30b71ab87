"""A fleet on this machine: one trial at a time, hosts that die, what is gone on with and left."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cli
import pytest
from distributed import Client
from processes import children

from tare import open as open_results
from tare.experiment import journal
from tare.experiment.journal import TrialEnd, TrialStart
from tare.features.fleet import certificate
from tare.features.fleet import folder as folders

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces"),
]
FILE = """
[experiment]
name = "fleet"
question = "Do hosts differ?"
trials = {trials}
fingerprint = false
[[workload]]
command = ["sleep", "0.05"]
[factors]
platform = ["bare", "bubblewrap"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.format(trials=4))
    return path


def tare(*words: str | Path, code: int = 0) -> str:
    done = cli.run(*map(str, words))
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def spans(folder: Path) -> list[tuple[int, int]]:
    """Return from when to when each trial of a host took place."""
    found, began = [], 0
    for line in journal.read_all(folder):
        if isinstance(line, TrialStart):
            began = line.monotonic_ns
        elif isinstance(line, TrialEnd):
            found.append((began, line.monotonic_ns))
    return found


def ended(file: Path) -> int:
    """Count the trials that have ended, by a journal."""
    return file.read_bytes().count(b'"record":"ended"')


def test_hosts_measure_one_at_a_time_and_answer_together(file: Path) -> None:
    said = tare("experiment", "run", file, "--fleet", "local:3")
    assert "mean of 3 hosts" in said
    mine = file.with_suffix("")
    record = folders.read(mine)
    assert [(host.name, host.ended, host.blocks) for host in record.hosts] == [
        (f"host-{number}", "finished", 4) for number in (1, 2, 3)
    ]
    # They are one machine, and one of them measures at a time.
    assert len({host.machine for host in record.hosts}) == 1
    own = [spans(mine / "hosts" / host.name) for host in record.hosts]
    assert [len(some) for some in own] == [8, 8, 8]
    for (_, end), (began, _) in itertools.pairwise(sorted(itertools.chain(*own))):
        assert end <= began
    assert (mine / "report.html").exists()
    assert "not empty" in tare("experiment", "run", file, "--fleet", "local:3", code=14)


@pytest.mark.slow  # `test_only_blocks_in_flight_are_lost` kills a worker as well
def test_a_host_that_dies_loses_its_block_alone(file: Path) -> None:
    file.write_text(FILE.format(trials=9))
    front = cli.start("experiment", "run", str(file), "--fleet", "local:2")
    mine = file.with_suffix("")
    victim = mine / "hosts/host-2/journal/1.ndjson"
    while front.poll() is None and not (victim.exists() and ended(victim) > 3):
        time.sleep(0.02)
    for pid, line in children(front.pid):
        if "fleet node host-2" in line:
            os.kill(pid, signal.SIGKILL)
    said = "".join(front.communicate(120))
    assert front.returncode == 18, said
    assert "host-2" in said
    states = {host.name: host.ended for host in folders.read(mine).hosts}
    assert states == {"host-1": "finished", "host-2": "lost"}
    tare("experiment", "run", file, "--fleet", "local:2", "--resume")
    states = {host.name: host.ended for host in folders.read(mine).hosts}
    assert states == {"host-1": "complete", "host-2": "finished"}
    for name in ("host-1", "host-2"):
        results = open_results(mine / "hosts" / name)
        good = results.good.frame()
        assert good.groupby("cell").size().tolist() == [9, 9]
        # Each block is of one session.
        assert not good.duplicated(["session", "block", "cell"]).any()


def test_the_file_says_who_measures_and_how_many_at_once(file: Path) -> None:
    asked = '[fleet]\nhosts = ["host-[12]", "host-9"]\nat_once = 1\nblocks = 2\n'
    file.write_text(FILE.format(trials=5) + asked)
    said = tare("experiment", "run", file, "--fleet", "local:3", code=18)
    assert "host-9: no host is called so; there are: host-1, host-2, host-3" in said
    record = folders.read(file.with_suffix(""))
    states = {host.name: (host.ended, host.blocks) for host in record.hosts}
    assert states == {
        "host-1": ("finished", 5), "host-2": ("finished", 5), "host-9": ("refused", 0),
    }  # fmt: skip
    # They take turns: neither is through before the other has begun.
    first, second = (spans(file.with_suffix("") / "hosts" / f"host-{n}") for n in (1, 2))
    assert first[0] < second[-1]
    assert second[0] < first[-1]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    """Return a scheduler that a user started, with certificates."""
    (tmp_path / "own").mkdir()
    with contextlib.ExitStack() as stack:
        yield Own(tmp_path / "own", stack)


class Own:
    """A scheduler of a user's own, and its workers."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._folder, self._stack = folder, stack
        made = certificate.make()
        self._security = made.security()
        for name in ("certificate", "key"):
            (folder / name).write_text(getattr(made, name))
        prefix = "DASK_DISTRIBUTED__COMM__"
        files = {
            f"{prefix}TLS__{role}__{name}": str(folder / file)
            for role in ("SCHEDULER", "WORKER", "CLIENT")
            for name, file in (("CERT", "certificate"), ("KEY", "key"))
        }
        self.environment = os.environ | files | {
            f"{prefix}TLS__CA_FILE": str(folder / "certificate"),
            f"{prefix}REQUIRE_ENCRYPTION": "true",
        }  # fmt: skip
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"tls://127.0.0.1:{self.port}"
        self._start("scheduler", "--host", self.address, "--no-dashboard")

    def _start(self, role: str, *words: str, **others: str) -> None:
        started = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{role}", *words],
            env=self.environment | others, cwd=self._folder, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._stack.callback(started.wait)
        self._stack.callback(started.terminate)

    def worker(self, name: str, **environment: str) -> None:
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        host = ("--host", "tls://127.0.0.1", "--name", name)
        self._start("worker", self.address, *host, *words, **environment)

    def tare(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start tare with the certificates, which Dask reads when it is imported."""
        return subprocess.Popen(
            [*cli.TARE, *map(str, words)],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def wait(self, count: int) -> None:
        with Client(
            self.address, timeout=60, set_as_default=False, security=self._security
        ) as client:
            client.wait_for_workers(count, timeout=60)


@pytest.mark.slow
def test_a_host_that_comes_late_measures_as_well(file: Path, own: Own) -> None:
    file.write_text(FILE.format(trials=40))
    own.worker("host-1")
    own.wait(1)
    with own.tare("experiment", "run", file, "--fleet", own.address) as front:
        begun = file.with_suffix("") / "hosts/host-1/journal/1.ndjson"
        while front.poll() is None and not begun.exists():
            time.sleep(0.1)
        own.worker("late")
        said, _ = front.communicate(timeout=120)
    assert front.returncode == 0, said
    found = {host.name: host for host in folders.read(file.with_suffix("")).hosts}
    assert found["host-1"].joined_s == 0 < found["late"].joined_s
    assert {(host.ended, host.blocks) for host in found.values()} == {("finished", 40)}
    assert "late came" in tare("fleet", "report", file.with_suffix(""))


def test_a_host_with_another_tare_is_left_out_alone(file: Path, tmp_path: Path, own: Own) -> None:
    file.write_text(FILE.format(trials=1))
    (tmp_path / "other/tare").mkdir(parents=True)
    (tmp_path / "other/tare/__init__.py").touch()
    own.worker("same")
    own.worker("other", PYTHONPATH=str(tmp_path / "other"))
    own.wait(2)
    with own.tare("experiment", "run", file, "--fleet", own.address) as front:
        said, _ = front.communicate(timeout=120)
    assert front.returncode == 18, said
    assert "other: it cannot do what it is asked" in said
    found = {host.name: host.ended for host in folders.read(file.with_suffix("")).hosts}
    assert found == {"same": "finished", "other": "refused"}
