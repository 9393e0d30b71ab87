"""Services under load: how soon they are ready, and whether the load is what was asked.

    benchmarks/services.py ready       time until WordPress and Cassandra are ready, on bare
    benchmarks/services.py users       1,000 users of WordPress: rows, errors, JMeter's own count
    benchmarks/services.py rate        Cassandra at 1,000 operations/s: rate, the driver's CPUs
    benchmarks/services.py shaped [PLATFORM…]
                                       WordPress on shaped networks: throughput by what the rate,
                                       or the bucket, lets through

As root; `shaped` takes about three minutes a platform.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import tare

PLATFORMS = ("bare", "docker", "podman", "runc", "nspawn", "bubblewrap", "gvisor")
#: Below what one CPU answers.
RATES_MBIT = (1, 1.5, 2)
#: Tokens, and the rates with and without.
BUCKET_MBIT, PEAK_MBIT, REFILL_MBIT = 8, 2, 0.5
#: What a host sends at once after a pause.
BURST_BITS = 8 * 72_000
USERS = 20


def run(*words: str) -> tare.Results:
    """Run an application, and return what was measured."""
    folder = Path(tempfile.mkdtemp(prefix="services-"))
    command = [sys.executable, "-m", "tare", "run", "--application", *words]
    subprocess.run([*command, "--out", str(folder / "out"), "--no-fingerprint"], check=True)
    return tare.open(folder / "out")


def medians(results: tare.Results, *metrics: str) -> str:
    """Return the median of each metric over the trials, as text."""
    found = {m: results.values(m)["value"] for m in metrics}
    return ", ".join(f"{m} {np.median(v):.6g} (n = {len(v)})" for m, v in found.items())


def ready() -> None:
    """Print how soon services are ready."""
    for name in ("wordpress", "cassandra"):
        results = run(name, "-n", "5", "--size", "1c")
        print(name, medians(results, "services_ready_ns"))


def users() -> None:
    """Print what becomes of 1,000 users."""
    results = run("wordpress", "-n", "2", "--set", "users=1000")
    print(medians(results, "requests", "request_error_share", "response_mean_ns"))


def rate() -> None:
    """Print what a rate costs the driver."""
    results = run("cassandra", "-n", "5", "--size", "1c")
    print(medians(results, "request_rate", "driver_cpus", "late", "response_p99_ns"))


def shaped(*platforms: str) -> None:
    """Print the throughput of each network relative to what it lets through."""
    bucket = f"bucket high={PEAK_MBIT}Mbit low={REFILL_MBIT}Mbit budget={BUCKET_MBIT}Mbit"
    networks = [*(f"rate {mbit}Mbit" for mbit in RATES_MBIT), bucket]
    for platform in platforms or PLATFORMS:
        for network in networks:
            results = run(
                "wordpress", "-n", "2", "-p", platform, "--size", "1c", "--network", network,
                "--set", f"users={USERS}", "--set", "ramp=0",
            )  # fmt: skip
            sent_bits = 8 * per_trial(results.network_use.where(host=1).frame(), "sent_bytes")
            rows, throughput = (
                results.values(metric).frame().set_index("trial")["value"]
                for metric in ("requests", "request_throughput")
            )
            seconds = rows / throughput
            predicted = (sent_bits - BURST_BITS).map(least_s(network))
            ratios = (predicted / seconds).to_numpy()
            print(f"{platform:11} {network:50} {np.round(ratios, 3)}", flush=True)


def per_trial(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return a column by trial."""
    return rows.groupby("trial")[column].sum()


def least_s(network: str) -> Callable[[float], float]:
    """Return how long a network takes for some bits at least."""
    if network.startswith("rate"):
        bps = float(network.split()[1].removesuffix("Mbit")) * 1e6
        return lambda bits: bits / bps
    lasts_s = BUCKET_MBIT / (PEAK_MBIT - REFILL_MBIT)
    first = lasts_s * PEAK_MBIT * 1e6
    return lambda bits: (
        bits / (PEAK_MBIT * 1e6) if bits < first else lasts_s + (bits - first) / (REFILL_MBIT * 1e6)
    )


if __name__ == "__main__":
    parts = {"ready": ready, "users": users, "rate": rate}
    if sys.argv[1:2] == ["shaped"]:
        shaped(*sys.argv[2:])
    elif sys.argv[1:] and sys.argv[1] in parts:
        parts[sys.argv[1]]()
    else:
        sys.exit(__doc__)
