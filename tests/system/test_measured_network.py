"""``tare net measure`` against ``tare net serve``, over the loopback, with ends that are lost."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cli
import pytest

from tare.agent.client import binary
from tare.agent.record import Interval
from tare.features.network.measure.client import Ends, connection
from tare.networks import peering
from tare.networks.recording import folder
from tare.render.words import sentence
from tare.results.message import message

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

TARE = str(Path(sys.executable).with_name("tare"))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "lab.key"
    peering.make_key(path)
    return path


@contextlib.contextmanager
def serving(key: Path, port: int = 0, *tare: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The other end: started by the agent itself, or by words of tare that take their time."""
    begin = [*tare, "--key"] if tare else [str(binary()), "peer", "--key-file"]
    process = subprocess.Popen(
        [*begin, str(key), "--bind", f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None
        yield found[0], process
    finally:
        process.kill()
        process.wait()


def measure(*words: object) -> cli.Captured:
    return cli.start("net", "measure", *map(str, words))


def wait_for_intervals(path: Path, n: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if (path / "trace.ndjson").read_bytes().count(b'{"record":"interval"') >= n:
                return
        time.sleep(0.05)
    raise TimeoutError(path)


def test_a_pattern_in_both_directions(tmp_path: Path, key: Path) -> None:
    with serving(key) as (address, _):
        done = cli.run(
            "net", "measure", address, "--key", str(key), "--duration", "2s",
            "--pattern", "0.4-0.2", "--interval", "100ms", "--direction", "both",
            "--streams", "2", "--out", str(tmp_path / "m"), "--json", "-",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"]
    read = folder.read(tmp_path / "m")
    assert not read.notes
    assert read.facts["here"]["congestion"] == "cubic"
    for direction in ("out", "in"):
        trace = folder.trace(read, direction)
        assert trace.bits.sum() > 0
        # What is under way is still acknowledged in a rest.
        assert trace.bits[trace.on_s == 0].sum() < 0.5 * trace.bits.sum()
        # Some of it was rested.
        assert 0.4 < trace.on_s.sum() / (trace.end_s - trace.start_s).sum() < 0.9
    assert (tmp_path / "m" / "report.html").exists()


def test_the_other_end_is_lost_and_the_front_is_killed(tmp_path: Path, key: Path) -> None:
    out = tmp_path / "m"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(key, port) as (address, _):
        process = measure(
            address, "--key", key, "--duration", "5s", "--interval", "100ms", "--out", out,
        )  # fmt: skip
        wait_for_intervals(out, 5)
    with serving(key, port):
        wait_for_intervals(out, 12)
        process.kill()
        process.communicate()
        # As a machine would that lost its power in the middle of a line.
        with (out / "trace.ndjson").open("ab") as trace:
            trace.write(b'{"record":"interv')
        assert folder.read(out).left_ns()
        last = cli.run(
            "net", "measure", "--out", str(out), "--resume", "--json", str(tmp_path / "end.json")
        )
        assert last.returncode == 0, last.stderr
    end = json.loads((tmp_path / "end.json").read_text())
    assert end["complete"]
    whys = [gap["why"] for gap in end["gaps"]]
    assert sum("stopped and resumed" in why for why in whys) == 1
    assert len(whys) >= 2
    assert sentence(message("{n | counted('line')} left out: cut off or damaged", n=1)) in [
        doubt["text"] + "." for doubt in end["doubts"]
    ]
    assert re.search(r"\d gaps, [\d.]+ m?s in all: ", " ".join(last.stdout.split()))


def test_an_end_that_is_lost_for_good_is_no_success(tmp_path: Path, key: Path) -> None:
    out = tmp_path / "m"
    with serving(key) as (address, _):
        process = measure(
            address, "--key", key, "--duration", "3s", "--interval", "100ms", "--out", out
        )
        wait_for_intervals(out, 5)
    _, err = process.communicate()
    assert process.returncode == 18, err
    assert re.search(r"the last [\d.]+ m?s", err)
    assert folder.read(out).gaps
    assert (out / "report.html").exists()


def test_several_clients_of_one_server(tmp_path: Path, key: Path) -> None:
    with serving(
        key,
        0,
        TARE,
        "net",
        "serve",
        "--max-duration",
        "1h",
        "--max-streams",
        "8",
        "--max-bytes",
        "10TB",
    ) as (address, _):
        secret = peering.read_key(key)
        with (
            Ends(connection(address, secret, interval_s=0.1)) as one,
            Ends(connection(address, secret, interval_s=0.1, direction="in")) as other,
        ):
            for ends, direction in ((one, "out"), (other, "in")):
                told = [r for r in ends.phase(0.5) if isinstance(r, Interval)]
                assert sum(r.acked_bytes for r in told) > 0
                assert {r.direction for r in told} == {direction}


def test_another_key_is_told(tmp_path: Path, key: Path) -> None:
    other = tmp_path / "other.key"
    peering.make_key(other)
    with serving(key) as (address, _):
        words = ["--key", str(other), "--duration", "1s", "--out", str(tmp_path / "m")]
        done = cli.run("net", "measure", address, *words)
    assert done.returncode == 13, done.stderr
    assert "key" in done.stderr
    assert "hint:" in done.stderr
    assert not (tmp_path / "m").exists()
