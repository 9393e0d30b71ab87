"""Does a fingerprint find the bucket that a network was given?

Network namespaces are shaped (``tare net emulate``), and a fingerprint is taken between them, in
the same run: what was asked for beside what was found, with its interval, and what it took. As
root:

    .venv/bin/python benchmarks/network_fingerprint.py [SECONDS]
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tare.experiment.fingerprints.network import file
from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.networks import peering
from tare.units import quantity

TARE = (sys.executable, "-c", "from tare.wiring import main; main()")
#: High, low, budget, refill; the second is that of CLOUDNET's c5.xlarge in small, in the third
#: what comes back is not the low rate.
BUCKETS = (
    (400e6, 100e6, 300e6, 100e6),
    (2e9, 0.2e9, 10e9, 0.2e9),
    (2e9, 0.2e9, 10e9, 0.1e9),
)
NAMES = ("high", "low", "budget", "refill")
UNITS = {"high": "bits/s", "low": "bits/s", "budget": "bits", "refill": "bits/s"}


def main() -> None:
    """Take a fingerprint of each network, and print what came of it."""
    seconds = sys.argv[1] if len(sys.argv) > 1 else "120"
    print(f"{'asked':>38}  {'found [95 %]':>44}  error")
    for bucket in BUCKETS:
        found = _fingerprint(bucket, seconds)
        if found is not None:
            _tell(bucket, found)


def _fingerprint(bucket: tuple[float, ...], seconds: str) -> NetworkFingerprint | None:
    words = " ".join(f"{n}={v / 1e6:g}Mbit" for n, v in zip(NAMES, bucket, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        key, out = Path(folder) / "key", Path(folder) / "network.json"
        peering.make_key(key)
        serve = shlex.join([*TARE, "net", "serve", "--bind", "{host}", "--key", str(key)])
        done = subprocess.run(
            [
                *TARE, "net", "emulate", "--no-check", f"bucket {words}", "--serve", serve, "--",
                *TARE, "net", "fingerprint", "{host2}", "--key", str(key), "--quick",
                "--duration", f"{seconds}s", "--no-store", "--json", str(out),
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not out.exists():
            print(f"{words}: failed\n{done.stderr}")
            return None
        return file.read(out)


def _tell(bucket: tuple[float, ...], found: NetworkFingerprint) -> None:
    kind = "nothing" if found.shaping is None else found.shaping.kind
    ended = "" if found.searched is None else found.searched.ended
    for name, asked in zip(NAMES, bucket, strict=True):
        label = f"{name} {quantity(asked, UNITS[name])}"
        figure = found.figures.get(f"bucket.{name}")
        if figure is None:
            print(f"{label:>38}  {'not identified':>44}")
            continue
        low, high = figure.ci or (figure.value, figure.value)
        value, start, end = (quantity(x, UNITS[name]) for x in (figure.value, low, high))
        error = 100 * (figure.value / asked - 1)
        print(f"{label:>38}  {f'{value} [{start}, {end}]':>44}  {error:+.2f} %")
    spent = quantity(found.spent_bits, "bits")
    print(f"    called a {kind} after {found.seconds:.0f} s and {spent}: {ended}", flush=True)


if __name__ == "__main__":
    main()
