"""Is a bucket on a real link named, and do the intervals hold its rates?

Two network namespaces with a veth pair, shaped by the kernel's own tbf or by ``tare net emulate``,
searched with ``tare net measure --identify``: what was asked for beside what was found. As root:

    .venv/bin/python benchmarks/identification_live.py [--runs 5] [--low 10 25 100 500] [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.networks import peering

TARE = (sys.executable, "-c", "from tare.wiring import main; main()")
#: Low rate in Mbit/s: high rate, and bytes of burst.
BUCKETS = {10: (100, 5e6), 25: (300, 10e6), 100: (600, 40e6), 500: (1000, 150e6)}
#: On the wire, of each of tare's super-segments; headers are 4.6 % of the payload.
_PEAK_MTU = 65536


@dataclass(frozen=True)
class Asked:
    shaper: str
    high: float
    low: float
    budget: float


def asked(shaper: str, low: int) -> Asked:
    high, burst = BUCKETS[low]
    return Asked(shaper, high * 1e6, low * 1e6, 8 * burst)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def namespaces(prefix: str = "tarebench") -> Iterator[tuple[str, str]]:
    """Two namespaces, 10.94.0.1 and 10.94.0.2."""
    here, there = f"{prefix}1", f"{prefix}2"
    try:
        for name in (here, there):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", here, "link", "add", "v1", "type", "veth", "peer", "name", "v2", "netns", there)
        for number, (name, device) in enumerate(((here, "v1"), (there, "v2")), 1):
            ip("-n", name, "addr", "add", f"10.94.0.{number}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        yield here, there
    finally:
        for name in (here, there):
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)


def by_tbf(one: Asked, words: list[str], key: Path) -> str:
    """Search behind the kernel's tbf."""
    with namespaces() as (here, there):
        inside = ["ip", "netns", "exec", here]
        shaped = [
            "tc", "qdisc", "replace", "dev", "v1", "root", "tbf", "rate", f"{one.low:.0f}bit",
            "peakrate", f"{one.high:.0f}bit", "burst", f"{one.budget / 8:.0f}", "latency", "50ms",
            "mtu", str(_PEAK_MTU),
        ]  # fmt: skip
        subprocess.run([*inside, *shaped], check=True)
        serve = subprocess.Popen(
            ["ip", "netns", "exec", there, *TARE, "net", "serve", "--bind", "10.94.0.2", "--key",
             str(key)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            time.sleep(1.5)
            done = subprocess.run(
                [*inside, *TARE, "net", "measure", "10.94.0.2", *words],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        finally:
            serve.terminate()
            serve.wait()
    return done.stderr


def by_emulation(one: Asked, words: list[str], key: Path) -> str:
    """Search behind tare's own emulation."""
    spec = f"bucket high={one.high:.0f}bit low={one.low:.0f}bit budget={one.budget:.0f}bit"
    serve = " ".join([*TARE[:2], f"'{TARE[2]}'", "net", "serve", "--bind", "{host}", "--key",
                      str(key)])  # fmt: skip
    done = subprocess.run(
        [*TARE, "net", "emulate", "--no-check", spec, "--serve", serve, "--", *TARE, "net",
         "measure", "{host2}", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stderr


SEARCHES = {"tbf": by_tbf, "emulate": by_emulation}


def search(one: Asked, seconds: int, keep: Path | None) -> dict[str, Any] | None:
    """Search for a bucket, and return what ``--json`` tells; None: nothing."""
    with tempfile.TemporaryDirectory() as folder:
        key, told = Path(folder) / "key", Path(folder) / "told.json"
        peering.make_key(key)
        words = ["--key", str(key), "--identify", "--duration", f"{seconds}s", "--json", str(told)]
        if keep is not None:
            words += ["--out", str(keep)]
        errors = SEARCHES[one.shaper](one, words, key)
        if not told.exists():
            print(errors, file=sys.stderr)
            return None
        document: dict[str, Any] = json.loads(told.read_text())
        return document


def main() -> int:
    """Search behind each shaper at each rate, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--low", type=int, nargs="*", default=list(BUCKETS), choices=list(BUCKETS))
    parser.add_argument("--shapers", nargs="*", default=list(SEARCHES), choices=list(SEARCHES))
    parser.add_argument("--seconds", type=int, default=90)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    named = inside = runs = 0
    for shaper in options.shapers:
        for low in options.low:
            one = asked(shaper, low)
            for number in range(options.runs):
                keep = options.keep and options.keep / f"{shaper}-{low}-{number + 1}"
                runs += 1
                document = search(one, options.seconds, keep)
                series = document["series"] if document else []
                if not series:
                    print(f"{shaper:8} {low:4} Mbit/s: nothing")
                    continue
                found = series[0]
                held = all(
                    found[name] is not None
                    and found[name]["ci"][0] <= truth / 1e9 <= found[name]["ci"][1]
                    for name, truth in (("high_gbps", one.high), ("low_gbps", one.low))
                )
                named += found["kind"] == "bucket"
                inside += held
                outside = "" if held else "  OUTSIDE"
                print(f"{shaper:8} {low:4} Mbit/s: {_told(found, one)}{outside}", flush=True)
    print(f"{named} of {runs} named, {inside} of {runs} hold both rates")
    return 0 if runs - named <= runs / 40 and runs - inside <= runs / 20 else 1


def _told(found: dict[str, Any], one: Asked) -> str:
    parts = [found["kind"]]
    for name, truth in (
        ("high_gbps", one.high), ("low_gbps", one.low), ("budget_gbit", one.budget),
        ("refill_gbps", one.low),
    ):  # fmt: skip
        figure = found[name]
        if figure is None:
            parts.append(f"{name} –")
            continue
        off = [100 * (bound / (truth / 1e9) - 1) for bound in (figure["value"], *figure["ci"])]
        parts.append(f"{name.split('_')[0]} {off[0]:+.2f} % [{off[1]:+.2f}, {off[2]:+.2f}]")
    return "  ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
