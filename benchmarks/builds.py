"""Does another build of the agent change what it measures?

Each kernel with its default parameters, and an empty command, are measured by two agents in
alternating rounds. A ratio is the second agent's median over the first one's; the interval (95 %)
is a bootstrap of rounds. Profiles of cargo are compared with it (agent/Cargo.toml).

    .venv/bin/python benchmarks/builds.py FIRST SECOND [--rounds 20]
"""

from __future__ import annotations

import argparse
import json
import subprocess
from typing import Any

import numpy as np

from tare.agent.client import Agent, ProcessChannel, record

#: Iterations of a kernel, and executions of a command, in a round.
ITERATIONS = 5
REPLICATES = 5000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agents", nargs=2, metavar="AGENT")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    described = subprocess.run([options.agents[0], "describe"], capture_output=True, check=True)
    names = [kernel["name"] for kernel in json.loads(described.stdout)["kernels"]]
    workloads: dict[str, Any] = {
        name: record.Kernel(name=name, parameters={}, repetitions=1, seed=1) for name in names
    }
    workloads["the command true"] = record.Command(argv=("/bin/true",), environment={})
    agents = [Agent(ProcessChannel([path, "serve"])) for path in options.agents]
    print(f"{'workload':<20}{'first ms':>10}{'second ms':>11}   ratio [95 %]")
    for name, workload in workloads.items():
        found = np.empty((options.rounds, 2))
        for turn in range(options.rounds):
            for side in (0, 1) if turn % 2 else (1, 0):
                found[turn, side] = measure(agents[side], workload)
        report(name, found)
    for agent in agents:
        agent.close()


def measure(agent: Agent, workload: Any) -> float:
    """Return the median over a round, in ms."""
    is_kernel = isinstance(workload, record.Kernel)
    trial = record.Trial(
        id=agent.next_id(), trial=0, nonce=1, workload=workload,
        workers=(record.Worker(worker=0, cpus=(0,)),), iterations=ITERATIONS, warmup=1,
        process="same" if is_kernel else "fresh", tail="loaded",
        rendezvous=record.Rendezvous(handout=None, parties=1), linger_ns=0, observe=not is_kernel,
    )  # fmt: skip
    answer = agent.ask(trial, timeout_s=600)
    for fault in answer:
        if isinstance(fault, record.Fault):
            raise SystemExit(fault.message)
    metric = "kernel_wall_ns" if is_kernel else "wall_ns"
    return float(
        np.median(
            [
                sample.value / 1e6
                for sample in answer
                if isinstance(sample, record.Sample)
                and (sample.metric, sample.phase) == (metric, "measured")
            ]
        )
    )


def report(name: str, found: np.ndarray) -> None:
    """Print both medians and their ratio; rows are rounds, columns agents."""
    rng = np.random.default_rng(1)
    drawn = found[rng.integers(0, len(found), (REPLICATES, len(found)))]
    ratios = np.median(drawn[..., 1], axis=1) / np.median(drawn[..., 0], axis=1)
    first, second = np.median(found, axis=0)
    low, high = np.quantile(ratios, (0.025, 0.975))
    print(
        f"{name:<20}{first:>10.4f}{second:>11.4f}   {second / first:.3f} [{low:.3f}, {high:.3f}]",
        flush=True,
    )


if __name__ == "__main__":
    main()
