"""How often do findings of networks see what is not there, and miss what is?

Made-up experiments: a program under several budgets, whose truth is known. Levels that make no
difference may be called different, and a budget that falls unnoticed may be said to matter, in at
most 5 % of experiments each; beside it, how often a bucket that really runs out is seen.

    .venv/bin/python benchmarks/network_findings.py [--experiments 400]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

from networked import Program, budgets, make

from tare.experiment.findings.network_cells import Networks, networks_of
from tare.features.network.findings.depletion import courses
from tare.features.network.findings.network_slowdown import slowdowns
from tare.features.network.findings.network_spread import spreads

#: Machines under the program: what its times do apart from the network.
MACHINES: dict[str, dict[str, float]] = {
    "independent": {},
    "heavy tails (t2)": {"tails": 2},
    "drifts by 5 %": {"drift": 0.05},
    "remembers (AR .8)": {"memory": 0.8},
}
ALLOWED = 0.05


def located(found: Networks) -> bool:
    return any(s.comparison.verdict not in ("same", "not decided") for s in slowdowns(found))


def spread(found: Networks) -> bool:
    return any(c.verdict not in ("as stable", "not decided") for *_, c in spreads(found))


def drained(found: Networks) -> bool:
    return any(c.state == "drained" for c in courses(found))


def share(experiments: int, ask: Callable[[Networks], bool], **given: object) -> int:
    """Count the experiments of which something is said."""
    said = 0
    for seed in range(experiments):
        found = networks_of(make(seed=seed, logged=False, **given))  # type: ignore[arg-type]
        assert isinstance(found, Networks)
        said += ask(found)
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=400)
    n = parser.parse_args().experiments
    most = int(stats.binom.ppf(0.99, n, ALLOWED))
    failed = False
    print(f"{n} experiments each; a true 5 % shows at most {most} of them in 99 %\n")
    print("| machine | trials | slower or faster | more or less stable | drains |")
    print("| --- | --- | --- | --- | --- |")
    for name, machine in MACHINES.items():
        for trials in (12, 20):
            alike = {"levels": budgets(8, 4, 2)[1:], "program": Program(sends={}, **machine)}
            falls = {"levels": budgets(400, 300), "program": Program(sends={2: 1e9}, **machine)}
            alarms = [
                share(n, located, trials=trials, **alike),
                share(n, spread, trials=trials, **alike),
                share(n, drained, trials=trials, budget="carry", gap_s=0, **falls),
            ]
            failed |= max(alarms) > most
            print(f"| {name} | {trials} | " + " | ".join(f"{a / n:.1%}" for a in alarms) + " |")
    runs_out = {"levels": budgets(20), "program": Program(noise=0.05), "budget": "carry"}
    seen = share(n, drained, trials=20, **runs_out)
    print(f"\nA bucket that is empty after some 8 of 20 trials is seen in {seen / n:.1%}.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
