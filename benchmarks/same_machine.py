"""How often is a machine refused that has not changed, and one that has?

Real brief fingerprints of this machine, one after another, noise and all. Two of them are a
session (before, after); every session is put beside the next. A/A: how many are refused. Beside
it, the same takes with a change made up in one metric at a time: how many are still accepted.
Fails where more than 5 % of A/A comparisons are refused beyond what chance allows (99 % bound).

    .venv/bin/python benchmarks/same_machine.py [--sessions 60] [--short] [--store takes.json]
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

from scipy import stats

from tare.experiment.catalogue import catalogue
from tare.experiment.fingerprints.machine.difference import Rule, Take, differences, rule
from tare.experiment.session.request import LONG_PROBING, SHORT_PROBING, Probing
from tare.features.machine.fingerprint import brief

#: Changes that are made up, relative.
CHANGES = (0.15, 0.3, 0.6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--short", action="store_true", help="as run and compare probe")
    parser.add_argument("--store", type=Path, help="keep the takes, or use those that are there")
    options = parser.parse_args()
    if options.store and options.store.exists():
        kept = json.loads(options.store.read_text())
        takes, rules = kept["takes"], {m: Rule(**r) for m, r in kept["rules"].items()}
    else:
        takes, rules = measure(
            2 * options.sessions, SHORT_PROBING if options.short else LONG_PROBING
        )
        if options.store:
            plain = {m: {f: getattr(r, f) for f in r.__struct_fields__} for m, r in rules.items()}
            options.store.write_text(json.dumps({"takes": takes, "rules": plain}))
    sys.exit(show(takes, rules))


def measure(count: int, probing: Probing) -> tuple[list[Take], dict[str, Rule]]:
    probes = catalogue().probes
    takes: list[Take] = []
    rules: dict[str, Rule] = {}
    for number in range(count):
        found = brief.take(probing.seconds, probes=probing.probes).metrics
        takes.append({m: list(f.values) for m, f in found.items()})
        rules |= {m: rule(m, f.unit, probes) for m, f in found.items()}
        print(f"\r  {number + 1} of {count} takes", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return takes, rules


def refused(before: list[Take], after: list[Take], rules: dict[str, Rule]) -> list[str]:
    return [c.metric for c in differences(before, after, rules) if c.verdict == "changed"]


def show(takes: list[Take], rules: dict[str, Rule]) -> int:
    sessions = [takes[i : i + 2] for i in range(0, len(takes) - 1, 2)]
    pairs = list(itertools.pairwise(sessions))
    found = [refused(a, b, rules) for a, b in pairs]
    alarms = sum(bool(f) for f in found)
    single = [refused([a], [b], rules) for a, b in itertools.pairwise(takes)]
    rounds = len(next(iter(takes[0].values())))
    named = ", ".join(itertools.chain(*found))
    print(f"{len(rules)} metrics; {len(takes)} takes of {rounds} rounds")
    print(f"sessions beside the next: {alarms} of {len(pairs)} refused: {named or 'none'}")
    print(f"single takes beside the next: {sum(map(bool, single))} of {len(single)} changed")
    print("\nA made-up change of one metric, refused in so many of all comparisons:")
    print(f"{'metric':32}" + "".join(f"{c:>+8.0%}" for c in CHANGES) + "   margin")
    for metric, its in rules.items():
        shares = [
            sum(metric in refused(a, scaled(b, metric, c), rules) for a, b in pairs) / len(pairs)
            for c in CHANGES
        ]
        print(f"{metric:32}" + "".join(f"{s:8.0%}" for s in shares) + f"   {its.margin:.0%}")
    limit = int(stats.binom.ppf(0.99, len(pairs), 0.05))
    return int(alarms > limit)


def scaled(session: list[Take], metric: str, change: float) -> list[Take]:
    return [{**take, metric: [v * (1 + change) for v in take[metric]]} for take in session]


if __name__ == "__main__":
    main()
