"""A fingerprint of a network that was shaped: is found what was asked for?"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from cli import TARE

from tare.experiment.fingerprints.network import file
from tare.networks import peering

pytestmark = pytest.mark.system

_TRIES = 3
_BUCKET = "bucket high=300Mbit low=100Mbit budget=200Mbit refill=100Mbit"


def _fingerprint(folder: Path) -> Path:
    if os.geteuid() != 0 or not Path("/proc/self/ns/net").exists():
        pytest.skip("network namespaces are made by root")
    key, out = folder / "lab.key", folder / "network.json"
    peering.make_key(key)
    serve = shlex.join([*TARE, "net", "serve", "--bind", "{host}", "--key", str(key)])
    command = [
        *TARE, "net", "emulate", "--no-check", _BUCKET,
        "--serve", serve,
        "--", *TARE, "net", "fingerprint", "{host2}", "--key", str(key), "--quick",
        "--duration", "8s", "--no-store", "--json", str(out),
        "--report", str(folder / "network.html"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if not out.exists() and "this kernel" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[0])
    assert done.returncode == 0, done.stderr
    return out


def test_bucket_is_seen_as_it_was_asked_for(tmp_path: Path) -> None:
    for number in range(_TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = file.read(_fingerprint(folder))
        assert found.shaping is not None
        # Ends without CPU may leave it open, and say so.
        if found.shaping.kind != "starved":
            break
    known = found.figures
    # A second epoch confirms it where the machine left time for one.
    assert found.shaping.kind in ("bucket", "drop")
    assert known["bucket.high"].value == pytest.approx(300e6, rel=0.15)
    assert known["bucket.low"].value == pytest.approx(100e6, rel=0.15)
    if "bucket.budget" in known:
        assert known["bucket.budget"].value == pytest.approx(200e6, rel=0.3)
    # Queues are seen: round trips are longer under load than idle.
    assert known["latency.loaded.p50"].value > known["latency.unpaced.p50"].value
    assert len(found.writes) == 4
    assert found.here["congestion"] == "cubic"
    assert (folder / "network.html").stat().st_size > 10_000
