"""A page with a table of many rows in headless Chromium: what a person waits for.

One row a task, for each of three configurations a result, CPU time, wall time and peak memory.
First screen: from the start of the navigation until the table's rows, filtered and sorted as the
page's address says, are painted; then from a key pressed or a click until the frame after it.
Of several rounds, the median and the largest.

    .venv/bin/python benchmarks/table_page.py [ROWS] [--rounds 5] [--page FILE]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "system"))
import chromium

from tare.render import files
from tare.render.large_table import LargeColumn, LargeTable
from tare.results.finding import Finding
from tare.results.report import Origin, Report, Section

LOOKS = {
    "correct": "good", "done": "good", "wrong": "wrong", "timeout": "limit",
    "cpu_time": "limit", "out_of_memory": "limit", "crashed": "crash", "killed": "crash",
    "lost": "unknown",
}  # fmt: skip
GROUPS = {"a": "gcc -O2 on docker", "b": "gcc -O3 on docker", "c": "clang -O2 on isolate"}
#: What a person does with it.
ACTIONS = {
    "text": "set(0, 'array')",
    "text, excluding": "set(0, '!array')",
    "number, above": "set(2, '>0.5 s')",
    "number, range": "set(3, '100..200 ms')",
    "choice": "set(1, 'not:correct')",
    "these four in turn": "set(0, 'array', 1, 'not:correct', 2, '>0.5 s', 5, 'is:correct')",
    "rows that differ": "t.querySelector('[data-differ]').click()",
    "sort by a number": "t.querySelectorAll('[data-sort]')[2].click()",
    "sort by a choice": "t.querySelectorAll('[data-sort]')[1].click()",
    "sort by text": "t.querySelectorAll('[data-sort]')[0].click()",
    "scroll to the middle": "b.scrollTop = b.scrollHeight / 2",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="?", default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", type=Path, help="keep the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = options.page or Path(folder) / "page.html"
        started = time.monotonic()
        files.write(report(), page, {"tasks": table(options.rows)})
        print(f"{options.rows:,} rows of 13 columns, {os.cpu_count()} CPUs")
        print(f"{'page':<22} {page.stat().st_size / 2**20:8.1f} MiB")
        print(f"{'written in':<22} {time.monotonic() - started:8.2f} s")
        measure(page, options.rounds)


def measure(page: Path, rounds: int) -> None:
    found: dict[str, list[float]] = {}
    with chromium.Browser() as browser:
        for _ in range(rounds):
            browser.call("Page.navigate", url="about:blank")
            browser.show(page)
            painted = "performance.getEntriesByName('large-table-painted')"
            browser.wait(f"{painted}.length > 0")
            first = browser.ask("performance.getEntriesByType('paint').at(-1).startTime")
            found.setdefault("first paint", []).append(first)
            ready = browser.ask(f"{painted}[0].startTime")
            found.setdefault("first screen", []).append(ready)
            for name, action in ACTIONS.items():
                found.setdefault(name, []).append(act(browser, action))
    print(f"{'ms':<22} {'median':>8} {'largest':>8}")
    for name, times in found.items():
        print(f"{name:<22} {statistics.median(times):8.0f} {max(times):8.0f}")


def act(browser: chromium.Browser, action: str) -> float:
    """Return the milliseconds until the frame after an action is painted, from a clear table."""
    browser.ask("document.querySelector('[data-clear]').click()")
    time.sleep(0.3)
    browser.ask(
        """
        (() => {
          const t = document.querySelector('.large'), b = t.querySelector('.table');
          const set = (...pairs) => {
            for (let i = 0; i < pairs.length; i += 2) {
              const input = t.querySelectorAll('[data-filter]')[pairs[i]];
              input.value = pairs[i + 1];
              input.dispatchEvent(new Event('input', { bubbles: true }));
            }
          };
          window.took = null;
          const start = performance.now();
          """
        + action
        + """;
          requestAnimationFrame(() => setTimeout(() => { took = performance.now() - start; }));
        })()
        """
    )
    browser.wait("window.took !== null")
    return float(browser.ask("window.took"))


def table(rows: int, seed: int = 1) -> LargeTable:
    """Make up results of three configurations."""
    draw = np.random.default_rng(seed)
    kinds = np.array(["array", "heap", "loops", "float", "recursion", "threads"])
    names = [
        f"benchmarks/c/{kind}-examples/{kind}_task_{place}_true-unreach-call.i"
        for place, kind in enumerate(kinds[draw.integers(0, len(kinds), rows)])
    ]
    columns = [LargeColumn("task", "task", "text", names)]
    hard = draw.lognormal(19, 2, rows)
    results = np.array([*LOOKS])
    usual = draw.choice(results, rows, p=[0.7, 0, 0.1, 0.08, 0.02, 0.04, 0.04, 0.01, 0.01])
    for key, group in GROUPS.items():
        result = np.where(draw.random(rows) < 0.03, draw.choice(results, rows), usual)
        cpu = np.round(hard * draw.lognormal(0, 0.2, rows))
        cpu[result == "lost"] = np.nan
        memory = np.round(draw.lognormal(17, 1, rows) / 4096) * 4096
        columns += [
            LargeColumn(f"{key}_result", "result", "choice", result, group=group, looks=LOOKS),
            LargeColumn(f"{key}_cpu", "CPU time", "number", cpu, unit="ns", group=group),
            LargeColumn(
                f"{key}_wall", "wall time", "number", np.round(cpu * 1.1), unit="ns", group=group
            ),
            LargeColumn(
                f"{key}_memory", "peak memory", "number", memory, unit="bytes", group=group
            ),
        ]
    return LargeTable(
        "tasks", "Results of all tasks", tuple(columns),
        differing=("a_result", "b_result", "c_result"), only_differing=True,
    )  # fmt: skip


def report() -> Report:
    finding = Finding(
        name="tasks", question="Where do results differ?", answer="See the table.", verdict="none"
    )
    return Report(
        name="tasks", question="Which configuration solves most tasks?", answers=("See below.",),
        strip=(), sections=(Section(finding),),
        origin=Origin(commands=("tare tasks run tasks.toml",), versions=("1",)),
    )  # fmt: skip


if __name__ == "__main__":
    main()
