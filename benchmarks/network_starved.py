"""Is the network blamed for an end that has no CPU?

Two network namespaces, a link that never changes, and ``stress-ng`` beside it. Of every run: what
is said to shape the link, and what ``fingerprint diff`` says of it and one without load. As root:

    .venv/bin/python benchmarks/network_starved.py [RATE…] [--runs N] [--end sender|receiver|both]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

from tare.experiment.fingerprints.network import file
from tare.experiment.fingerprints.network.difference import compare
from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.networks import peering

TARE = (sys.executable, "-c", "from tare.wiring import main; main()")
#: Of the namespaces, and of the interfaces in them.
NAME = "tare-dry"
HERE, THERE = "10.96.0.1", "10.96.0.2"
WORKERS = 8
#: Fingerprints without load.
_QUIET = 3
#: Keeps its CPU whatever else runs.
FIRST = ("nice", "-n", "-15")
BURSTS = {"300mbit": "64kb"}


def main() -> None:
    """Take fingerprints under load, and count those that blame the network."""
    asked = argparse.ArgumentParser()
    asked.add_argument("rates", nargs="*", default=["300mbit", "2gbit"])
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--end", choices=("sender", "receiver", "both"), default="sender")
    asked.add_argument("--for", dest="seconds", default="8s")
    words = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for rate in words.rates:
            with _link(rate):
                _rate(Path(folder), rate, words.runs, words.end, words.seconds)


def _rate(folder: Path, rate: str, runs: int, end: str, seconds: str) -> None:
    some = [_fingerprint(folder, "none", seconds) for _ in range(_QUIET)]
    quiet = some[0]
    # Base latency has two values on one machine: both ends on one CPU, or on two that sleep.
    unsteady = {
        change.figure
        for before, after in combinations(some, 2)
        for change in compare(before, after).differing
    }
    print(f"{rate}: without load differs {', '.join(sorted(unsteady)) or 'nothing'}", flush=True)
    blamed = 0
    for number in range(runs):
        began = time.monotonic()
        with _load():
            found = _fingerprint(folder, end, seconds)
        shaping = found.shaping
        kind, outages = ("none", 0) if shaping is None else (shaping.kind, shaping.outages)
        differs = compare(quiet, found)
        counted = [c for c in differs.differing if c.figure not in unsteady]
        # Whatever else it may be, it is neither a bucket nor a neighbour nor an outage.
        wrong = kind not in ("constant", "noisy", "capped") or outages or counted
        wrong = wrong or differs.deciding
        blamed += bool(wrong)
        starved = ", ".join(
            f"{one.figures[0]} {one.end or 'trips'} {one.waited:.2f}/{one.intervals or 0:.2f}"
            f"×{one.tries}"
            for one in found.starved
        )
        why = [f"{c.figure} {c.before:.4g} → {c.after:.4g}" for c in differs.differing]
        why += differs.deciding
        print(
            f"{rate} {end} {number}: {kind}, {outages} outages, diff {differs.verdict} "
            f"{' '.join(why)}; {starved or 'CPU enough'}; {time.monotonic() - began:.0f} s"
            f"{' BLAMED' if wrong else ''}",
            flush=True,
        )
    print(f"{rate} {end}: the network is blamed in {blamed} of {runs}", flush=True)


def _fingerprint(folder: Path, end: str, seconds: str) -> NetworkFingerprint:
    key, out = folder / "key", folder / "network.json"
    if not key.exists():
        peering.make_key(key)
    out.unlink(missing_ok=True)
    # The end that is not to lack CPU goes first.
    server = subprocess.Popen(
        [*_in("b"), *(FIRST if end == "sender" else ()), *TARE, "net", "serve", "--bind", THERE,
         "--key", str(key)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        server.stdout.readline()
        subprocess.run(
            [*_in("a"), *(FIRST if end == "receiver" else ()), *TARE, "net", "fingerprint", THERE,
             "--key", str(key), "--quick", "--duration", seconds, "--no-store", "--json", str(out)],
            capture_output=True, check=True,
        )  # fmt: skip
    finally:
        server.terminate()
        server.wait()
    return file.read(out)


def _in(side: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", f"{NAME}-{side}")


@contextmanager
def _load() -> Iterator[None]:
    load = subprocess.Popen(["stress-ng", "--cpu", str(WORKERS), "--quiet"])
    try:
        yield
    finally:
        load.terminate()
        load.wait()


@contextmanager
def _link(rate: str) -> Iterator[None]:
    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    try:
        for side in "ab":
            ip("netns", "add", f"{NAME}-{side}")
        ip("link", "add", "dry-a", "netns", f"{NAME}-a", "type", "veth",
           "peer", "name", "dry-b", "netns", f"{NAME}-b")  # fmt: skip
        for side, address in (("a", HERE), ("b", THERE)):
            ip("-n", f"{NAME}-{side}", "address", "add", f"{address}/24", "dev", f"dry-{side}")
            for device in ("lo", f"dry-{side}"):
                ip("-n", f"{NAME}-{side}", "link", "set", device, "up")
        subprocess.run(
            [*_in("a"), "tc", "qdisc", "add", "dev", "dry-a", "root", "tbf", "rate", rate,
             "burst", BURSTS.get(rate, "512kb"), "latency", "50ms"],
            check=True,
        )  # fmt: skip
        yield
    finally:
        for side in "ab":
            subprocess.run(["ip", "netns", "delete", f"{NAME}-{side}"], check=False)


if __name__ == "__main__":
    main()
