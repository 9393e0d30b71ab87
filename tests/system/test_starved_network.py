"""A link that never changes, and a machine that has no CPU for its ends: which is to blame?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import cli
import pytest
from cli import TARE

from tare.networks import peering

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

_NAME = f"tare-starved-{os.getpid()}"
_THERE = "10.97.0.2"


def _in(side: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", f"{_NAME}-{side}")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"ip {' '.join(words)}: {done.stderr.strip()}")


@contextmanager
def _link() -> Iterator[None]:
    try:
        for side in "ab":
            _ip("netns", "add", f"{_NAME}-{side}")
        _ip("link", "add", "starved-a", "netns", f"{_NAME}-a", "type", "veth",
            "peer", "name", "starved-b", "netns", f"{_NAME}-b")  # fmt: skip
        for side, address in (("a", "10.97.0.1"), ("b", _THERE)):
            _ip("-n", f"{_NAME}-{side}", "address", "add", f"{address}/24", "dev",
                f"starved-{side}")  # fmt: skip
            _ip("-n", f"{_NAME}-{side}", "link", "set", f"starved-{side}", "up")
        shaped = subprocess.run(
            [*_in("a"), "tc", "qdisc", "add", "dev", "starved-a", "root", "tbf",
             "rate", "300mbit", "burst", "64kb", "latency", "50ms"],
            check=False,
        )  # fmt: skip
        if shaped.returncode:
            pytest.skip("this kernel has no tbf")
        yield
    finally:
        for side in "ab":
            subprocess.run(["ip", "netns", "delete", f"{_NAME}-{side}"], check=False)


@contextmanager
def _serving(key: Path) -> Iterator[None]:
    server = subprocess.Popen(
        [*_in("b"), *TARE, "net", "serve", "--bind", _THERE, "--key", str(key)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        server.stdout.readline()
        yield
    finally:
        server.terminate()
        server.wait()


@contextmanager
def _load() -> Iterator[None]:
    load = subprocess.Popen(["stress-ng", "--cpu", str(4 * (os.cpu_count() or 1)), "--quiet"])
    try:
        yield
    finally:
        load.terminate()
        load.wait()


def _intervals(out: Path) -> list[dict[str, Any]]:
    with suppress(OSError):
        lines = (out / "trace.ndjson").read_text().splitlines(keepends=True)
        told = [json.loads(line) for line in lines if line.endswith("\n")]
        return [line for line in told if line["record"] == "interval"]
    return []


def _wait_for_intervals(measuring: subprocess.Popen[str], out: Path, count: int) -> None:
    while measuring.poll() is None and len(_intervals(out)) < count:
        time.sleep(0.05)


def test_the_network_is_not_blamed_for_a_machine_without_cpu(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("stress-ng") or not shutil.which("tc"):
        pytest.skip("takes root, tc and stress-ng")
    key, out = tmp_path / "key", tmp_path / "m"
    peering.make_key(key)
    words = ["net", "measure", _THERE, "--key", str(key), "--identify", "--duration", "5s"]
    with _link(), _serving(key):
        measuring = subprocess.Popen(
            [*_in("a"), *TARE, *words, "--out", str(out), "--json", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        # The ends wait for a CPU, but the front neither starts nor answers under that load.
        _wait_for_intervals(measuring, out, 1)
        with _load():
            _wait_for_intervals(measuring, out, 4)
        said, why = measuring.communicate()
    assert measuring.returncode == 0, why
    found = json.loads(said)
    (series,) = found["series"]
    assert series["kind"] in ("constant", "noisy", "capped", "starved")
    assert series["outages"] == 0
    intervals = _intervals(out)
    # The kernel has counted: four for each CPU wait, and so do the ends.
    told = [line for line in intervals if line.get("receiver_waited_ns") is not None]
    assert len(told) > len(intervals) / 2
    waited = sum(line["sender_waited_ns"] + line["receiver_waited_ns"] for line in told)
    assert waited > 0
    # The folder says the same.
    again = cli.run("net", "identify", str(out), "--json", "-")
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert document["series"][0]["kind"] == series["kind"]
    assert document["lacks"][0] == found["lacks"]
