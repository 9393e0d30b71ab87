"""A bucket of the kernel's own, on a real link: is it named, with its rates?"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cli import TARE

from tare.networks import peering

pytestmark = [pytest.mark.system, pytest.mark.timeout(240)]

_HERE, _THERE = "tare-test-id1", "tare-test-id2"
#: Low and high rate, and the bucket: its first burst lasts a third of a second.
_LOW, _HIGH, _BYTES = 25e6, 300e6, 10_000_000
_TRIES = 4


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine has no network namespaces: {done.stderr.strip()}")


@pytest.fixture
def link() -> Iterator[tuple[str, ...]]:
    """Give what runs a command behind the bucket; the other end is 10.95.0.2."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces are made by root")
    try:
        for name in (_HERE, _THERE):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", _HERE, "link", "add", "v1", "type", "veth", "peer", "name", "v2", "netns", _THERE)
        for number, (name, device) in enumerate(((_HERE, "v1"), (_THERE, "v2")), 1):
            _ip("-n", name, "addr", "add", f"10.95.0.{number}/24", "dev", device)
            _ip("-n", name, "link", "set", device, "up")
        inside = ("ip", "netns", "exec", _HERE)
        shaped = subprocess.run(
            [*inside, "tc", "qdisc", "replace", "dev", "v1", "root", "tbf", "latency", "50ms",
             "rate", f"{_LOW:.0f}bit", "burst", str(_BYTES), "peakrate", f"{_HIGH:.0f}bit",
             "mtu", "65536"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if shaped.returncode != 0:
            pytest.skip(f"this kernel has no tbf: {shaped.stderr.strip()}")
        yield inside
    finally:
        for name in (_HERE, _THERE):
            with suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _search(key: Path, told: Path, link: tuple[str, ...]) -> dict[str, Any]:
    words = ["net", "serve", "--bind", "10.95.0.2", "--key", str(key)]
    serve = subprocess.Popen(
        ["ip", "netns", "exec", _THERE, *TARE, *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert serve.stdout is not None
        serve.stdout.readline()
        done = subprocess.run(
            [*link, *TARE, "net", "measure", "10.95.0.2", "--key", str(key), "--identify",
             "--duration", "40s", "--json", str(told)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        serve.terminate()
        serve.wait(timeout=10)
    assert told.exists(), done.stderr
    document: dict[str, Any] = json.loads(told.read_text())
    return document


def test_the_kernels_own_bucket_is_found(tmp_path: Path, link: tuple[str, ...]) -> None:
    key = tmp_path / "key"
    peering.make_key(key)
    for number in range(_TRIES):
        document = _search(key, tmp_path / f"told-{number}.json", link)
        (found,) = document["series"]
        # Ends without CPU may leave it open, and say so.
        if found["kind"] == "bucket" or not document["lacks"]:
            break
        assert found["kind"] in ("starved", "drop"), found["reasons"]
    assert found["kind"] == "bucket", found["reasons"]
    for name, truth, within in (
        ("low_gbps", _LOW, 0.01), ("budget_gbit", 8 * _BYTES, 0.02), ("refill_gbps", _LOW, 0.03),
    ):  # fmt: skip
        figure = found[name]
        low, high = figure["ci"]
        near = abs(figure["value"] * 1e9 / truth - 1) <= within
        assert near or low <= truth / 1e9 <= high, (name, figure)
