"""Do the network probes read what lmbench and iperf3 read?

Every turn runs the probe and the reference once, in an order that alternates, in a network
namespace of their own where that can be made, so that neither meets the other's ports in
TIME_WAIT. A figure's best is the least (bandwidth: the largest) over the turns; its spread is
(largest - least) / median, its inner spread that of the middle half.

lmbench is an external reference: its lat_tcp, lat_udp and lat_connect are looked for in --lmbench.

    .venv/bin/python benchmarks/probe_network.py --lmbench /opt/lmbench/bin [--turns 5]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.session.probing import Given, Turn, perform_round

HERE = "127.0.0.1"
#: Rounds of a probe in one turn, of which the median counts, as a fingerprint would take them.
ROUNDS = 7
BLOCK = 128 << 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lmbench", type=Path, help="directory of lmbench's programs")
    parser.add_argument("--iperf3", default=shutil.which("iperf3"))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--effort", default="quick", choices=["brief", "quick", "whole"])
    parser.add_argument("--only", help="names that hold this text: TCP, UDP, connect, writes")
    parser.add_argument("--cpus", help="for both, such as 0 or 0,1; default: any")
    options = parser.parse_args()
    prefix = isolated()
    if options.cpus:
        prefix += ["taskset", "-c", options.cpus]
    pairs = {}
    if options.lmbench:
        pairs |= {
            "TCP round trip, ns": ("round_trip", "tcp_p50", lmbench(options.lmbench / "lat_tcp")),
            "UDP round trip, ns": ("round_trip", "udp_p50", lmbench(options.lmbench / "lat_udp")),
            "connect + close, ns": ("connect", "whole", lmbench(options.lmbench / "lat_connect")),
        }
    if options.iperf3:
        pairs["128 KiB writes, B/s"] = ("bandwidth", "loopback", iperf3(options.iperf3))
    pairs = {name: pair for name, pair in pairs.items() if (options.only or "") in name}
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in pairs}
    for name, (probe, figure, reference) in pairs.items():
        for turn in range(options.turns):
            sides = [
                lambda probe=probe, figure=figure: tare(prefix, probe, figure, options.effort),
                lambda reference=reference: reference(prefix),
            ]
            for side in (0, 1) if turn % 2 else (1, 0):
                found[name][side].append(sides[side]())
        report({name: found[name]})


def isolated() -> list[str]:
    """Return a prefix that gives each run a network namespace with a loopback of its own."""
    prefix = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    if not works:
        print("no network namespaces here: ports in TIME_WAIT are shared")
    return prefix if works else []


def tare(prefix: list[str], probe: str, figure: str, effort: str) -> float:
    metric = f"network.{probe}.{figure}"
    values = []
    with closing(Agent(ProcessChannel([*prefix, str(binary()), "serve"]))) as agent:
        for number in range(ROUNDS):
            turn = Turn(f"network.{probe}", number, 60)
            one = perform_round(agent, turn, Given(effort=effort))
            values += [reading.value for reading in one.readings if reading.metric == metric]
    return float(np.median(values))


def lmbench(program: Path):
    def measure(prefix: list[str]) -> float:
        script = f"{program} -s && sleep 0.2; {program} -N 3 {HERE}; {program} -S {HERE}"
        done = subprocess.run(
            [*prefix, "timeout", "30", "sh", "-c", script],
            # As its own scripts do: what it would calibrate for seconds otherwise.
            env={"PATH": os.environ["PATH"], "ENOUGH": "50000", "TIMING_O": "0", "LOOP_O": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        said = re.search(r": ([\d.]+) microseconds", done.stderr + done.stdout)
        return float(said[1]) * 1e3 if said else float("nan")

    return measure


def iperf3(program: str):
    def measure(prefix: list[str]) -> float:
        client = f"{program} -c {HERE} -l {BLOCK} -t 1 -J"
        script = f"{program} -s -1 -D && sleep 0.3 && {client}"
        done = subprocess.run(
            [*prefix, "sh", "-c", script], capture_output=True, text=True, check=False
        )
        time.sleep(0.2)
        received = json.loads(done.stdout)["end"]["sum_received"]
        return received["bits_per_second"] / 8

    return measure


def report(found: dict[str, tuple[list[float], list[float]]]) -> None:
    columns = ("", "best", "median", "spread", "inner")
    print(f"{'':>22} {'side':>10}" + "".join(f"{column:>12}" for column in columns[1:]))
    for name, sides in found.items():
        best = max if name.endswith("B/s") else min
        for side, values in zip(("tare", "reference"), sides, strict=True):
            read = [value for value in values if np.isfinite(value)]
            if not read:
                print(f"{name:>22} {side:>10} nothing was read")
                continue
            middle = np.median(read)
            low, high = np.quantile(read, [0.25, 0.75])
            print(
                f"{name:>22} {side:>10}{best(read):>12.4g}{middle:>12.4g}"
                f"{(max(read) - min(read)) / middle:>12.3f}{(high - low) / middle:>12.3f}"
            )
        ours, theirs = ((np.nanmax if best is max else np.nanmin)(values) for values in sides)
        print(
            f"{'':>22} tare / reference: best {ours / theirs:.3f}, "
            f"median {np.median(sides[0]) / np.nanmedian(sides[1]):.3f}"
        )


if __name__ == "__main__":
    main()
