"""How often does ``tare compare`` call a program different from itself?

Real A/A comparisons, one after another, of a short program with itself on this machine, noise and
all. Beside it, what pyperf's ``compare_to`` (Student's t on the same values) and hyperfine's
"times faster than" (ratio of means ± its error, from standard deviations) would have said of the
very same series. Fails at 17 alarms of 200 or more: a true 5 % passes, a true 10 % does not.
``tare selftest --false-alarms`` is the same without the others, in less time.

    .venv/bin/python benchmarks/false_alarms.py [--comparisons 200] [--budget '4 s']
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from pyperf._utils import is_significant
from scipy import stats

from tare.agent import client
from tare.features.machine.selftest.control import STEPS, limit
from tare.wiring import command_line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--budget", default="4 s")
    parser.add_argument("--steps", default=STEPS, help="of work in an execution [about 3 ms]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = f"{client.binary()} truth work {options.steps}"
        found = []
        for number in range(options.comparisons):
            found.append(compare(command, options.budget, Path(folder)))
            if number % 20 == 19:
                alarms = sum(f["verdict"] in ("slower", "faster") for f in found)
                print(f"  {number + 1}: {alarms} alarms", file=sys.stderr, flush=True)
    sys.exit(show(found))


def compare(command: str, budget: str, folder: Path) -> dict:
    """Compare in this process: to start Python 200 times would take most of the time."""
    told = folder / "told.json"
    words = ["compare", "--json", str(told), "--budget", budget, "--name", "a", "--name", "b"]
    with contextlib.redirect_stdout(io.StringIO()):
        command_line()([*words, command, command], standalone_mode=False)
    return json.loads(told.read_text())["comparisons"][0]


def hyperfine(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether 1 is outside the ratio ± error that hyperfine would print."""
    ratio = b.mean() / a.mean()
    error = ratio * np.hypot(a.std(ddof=1) / a.mean(), b.std(ddof=1) / b.mean())
    return abs(ratio - 1) > error


def show(found: list[dict]) -> int:
    """Print the table; the exit code is 1 where tare alarms too often."""
    n = len(found)
    values = [[np.array(v) for v in f["values"]] for f in found]
    alarms = sum(f["verdict"] in ("slower", "faster") for f in found)
    rows = {
        "tare compare": alarms,
        "pyperf compare_to": sum(bool(is_significant(list(a), list(b))[0]) for a, b in values),
        "hyperfine, 1 outside ±": sum(hyperfine(a, b) for a, b in values),
        "Wilcoxon, paired, at the end": sum(stats.wilcoxon(a, b).pvalue < 0.05 for a, b in values),
    }
    print(f"{n} comparisons of a program with itself")
    for name, count in rows.items():
        low, high = stats.binomtest(count, n).proportion_ci()
        print(f"  {name:<29} {count:>3} alarms  {count / n:5.1%}  [{low:.1%}, {high:.1%}]")
    verdicts = collections.Counter(f["verdict"] for f in found)
    print("  " + ", ".join(f"{word} {count}" for word, count in verdicts.most_common()))
    pairs = [f["n"] for f in found]
    spread = [np.std(np.log(b / a)) for a, b in values]
    print(
        f"  pairs: mean {np.mean(pairs):.0f}, median {np.median(pairs):.0f}, most {max(pairs)}; "
        f"SD of a pair's log-ratio: median {np.median(spread):.1%}"
    )
    print(f"  {'too many' if alarms >= limit(n) else 'as claimed'}: fails at {limit(n)} of {n}")
    return int(alarms >= limit(n))


if __name__ == "__main__":
    main()
