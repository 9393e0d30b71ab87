#!/usr/bin/env python3
"""Run the stages of ``make test`` or ``make nightly``, and report where their time goes.

    tools/gate.py test [--against FILE]    concurrently; FILE is the gate.json of an earlier run
    tools/gate.py nightly [STAGE ...]      one after the other: all, or those named
    tools/gate.py compare BEFORE AFTER     compare the files of two runs

A stage starts when the stages it needs have passed. ``gate.json`` (``nightly.json``) holds wall and
CPU seconds of each stage and of each test file. Needs only Python's standard library, since it
runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: Seconds and outcomes by test file, one JSON file per stage, written by tests/conftest.py.
COSTS = ROOT / ".costs"
#: Growth of a stage's CPU time that prints a warning.
GROWTH = 1.2
#: Stages with less CPU time than this, in seconds, vary too much to be compared.
COMPARABLE_S = 5.0
SLOWEST = 20


@dataclass(frozen=True)
class Stage:
    """A step of the gate.

    Attributes
    ----------
    name : str
        Shown in the table.
    command : str
        For a shell in the project's root.
    needs : tuple of str
        Stages that must have passed before.
    after : tuple of str
        Stages that must have ended before.
    nice : int
        Niceness: stages that only compute leave the CPUs to tests that measure.
    live : bool
        Print its output while it runs. Its last line is the gate's last line.
    """

    name: str
    command: str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    nice: int = 0
    live: bool = False


def _make(name: str, target: str, **options: Any) -> Stage:
    return Stage(name, f"make --no-print-directory {target}", **options)


SETUP = (
    Stage("setup", "tools/setup"),
    Stage("packages", "tools/packages test && tools/engine"),
)
TEST = (
    *SETUP,
    _make("tests", "pytest", needs=("setup", "packages"), live=True),
    _make("lint-python", "lint-python", needs=("setup",), nice=10),
    _make("generated", "check-generated", needs=("setup",), nice=10),
    _make("test-agent", "test-agent", needs=("setup",), nice=10),
    # Only one cargo at a time can write to its target folder.
    _make("lint-agent", "lint-agent", needs=("packages",), after=("test-agent",), nice=10),
)


def _nightly(names: list[str]) -> tuple[Stage, ...]:
    """Return the stages of the nightly run: one at a time, whether or not those before passed."""
    stages = [*SETUP]
    for name in names:
        done = tuple(stage.name for stage in stages[len(SETUP) :])
        stages.append(
            _make(name, NIGHTLY[name], needs=("setup", "packages"), after=done, live=True)
        )
    return tuple(stages)


#: Make's target of each nightly stage.
NIGHTLY = {
    "layers": "test-layers",
    "slow": "test-slow",
    "torture": "torture",
    "applications": "test-applications",
    "wheels": "test-wheels",
}


class Run:
    """A stage that has started, and a thread that reads its output."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            ["nice", "-n", str(stage.nice), "sh", "-c", stage.command],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Collect lines; of the live stage print each when the next one comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if self.stage.live and self.lines:
                print(self.lines[-1], flush=True)
            self.lines.append(line.rstrip("\n"))

    def end(self) -> None:
        """Print the output; of the live stage the last line is left to the caller."""
        # A daemon that inherited the pipe would keep it open for ever.
        self._reader.join(timeout=5)
        if not self.stage.live and self.lines:
            print("\n".join(self.lines), flush=True)

    def interrupt(self) -> None:
        """Stop the stage's processes as Ctrl-C does, so that tests remove what they made."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)


def run_stages(stages: tuple[Stage, ...]) -> tuple[dict[str, dict[str, Any]], str]:
    """Run stages as their needs allow.

    Returns
    -------
    dict
        By stage, in the order of ``stages``: ``outcome``, and seconds ``began_s`` since the start,
        ``wall_s``, ``cpu_s`` (of all its processes that were waited for).
    str
        The last line of the live stage.
    """
    done: dict[str, dict[str, Any]] = {}
    running: dict[int, Run] = {}
    waiting = list(stages)
    began, last_line = time.monotonic(), ""
    try:
        while waiting or running:
            for stage in list(waiting):
                failed = {name for name, result in done.items() if result["outcome"] != "passed"}
                if failed & {*stage.needs}:
                    done[stage.name] = {"outcome": "not run", "wall_s": 0.0, "cpu_s": 0.0}
                    waiting.remove(stage)
                elif {*stage.needs, *stage.after} <= done.keys():
                    print(f"[{stage.name}] started: {stage.command}", flush=True)
                    run = Run(stage)
                    running[run.process.pid] = run
                    waiting.remove(stage)
            if not running:
                continue
            pid, status, usage = os.wait4(-1, 0)
            if (ended := running.pop(pid, None)) is None:
                continue
            code = ended.process.returncode = os.waitstatus_to_exitcode(status)
            ended.end()
            if ended.stage.live and ended.lines:
                last_line = ended.lines[-1]
            result = done[ended.stage.name] = {
                "outcome": "passed" if code == 0 else f"failed ({code})",
                "began_s": round(ended.began - began, 1),
                "wall_s": round(time.monotonic() - ended.began, 1),
                "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
            }
            print(f"[{ended.stage.name}] {result['outcome']}, {result['wall_s']} s", flush=True)
    finally:
        for run in running.values():
            run.interrupt()
        for run in running.values():
            run.process.wait()
            run.end()
    return {stage.name: done[stage.name] for stage in stages}, last_line


def table(result: dict[str, Any]) -> str:
    """Return the stages and the slowest test files as text."""
    lines = [f"{'stage':<44}{'began s':>9}{'wall s':>9}{'CPU s':>9}"]
    for name, stage in result["stages"].items():
        outcome = "" if stage["outcome"] == "passed" else f": {stage['outcome']}"
        lines.append(
            f"{name + outcome:<44}{stage.get('began_s', 0):>9.1f}{stage['wall_s']:>9.1f}"
            f"{stage['cpu_s']:>9.1f}"
        )
    cpu = sum(stage["cpu_s"] for stage in result["stages"].values())
    lines.append(f"{'all':<44}{'':>9}{result['wall_s']:>9.1f}{cpu:>9.1f}")
    slowest = sorted(result["tests"].items(), key=lambda file: -file[1]["wall_s"])[:SLOWEST]
    if slowest:
        lines.append(f"\n{'slowest test files':<44}{'tests':>9}{'wall s':>9}{'CPU s':>9}")
    for name, file in slowest:
        tests = file["passed"] + file["failed"]
        lines.append(f"{name:<44}{tests:>9}{file['wall_s']:>9.1f}{file['cpu_s']:>9.1f}")
    return "\n".join(lines)


def outcomes(result: dict[str, Any]) -> str:
    """Return a Markdown table of stages with tests: seconds, outcomes, reasons of skips."""
    lines = ["| target | wall s | CPU s | passed | failed | skipped |", "| --- " * 6 + "|"]
    reasons: dict[str, int] = {}
    for name, stage in result["stages"].items():
        files = [file for file in result["tests"].values() if file["stage"] == name]
        passed, failed = (sum(file[key] for file in files) for key in ("passed", "failed"))
        skipped = 0
        for file in files:
            for reason, count in file["skipped"].items():
                skipped += count
                reasons[reason] = reasons.get(reason, 0) + count
        counts = f"{passed} | {failed} | {skipped}" if files else f"{stage['outcome']} | | "
        lines.append(f"| {name} | {stage['wall_s']:.0f} | {stage['cpu_s']:.0f} | {counts} |")
    lines += ["", *(f"- skipped {count}: {reason}" for reason, count in sorted(reasons.items()))]
    return "\n".join(lines)


def growth(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return a warning for each stage whose CPU time has grown by more than 20 %."""
    return [
        f"warning: {name}: {stage['cpu_s']} s of CPU time, {was:.1f} s before"
        for name, stage in after["stages"].items()
        if (was := before["stages"].get(name, {}).get("cpu_s", 0.0)) >= COMPARABLE_S
        and stage["cpu_s"] > GROWTH * was
    ]


def compare(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the CPU and wall seconds of two runs, by stage and by test file."""
    lines = []
    for kind, title in (("stages", "stage"), ("tests", "test file, by difference of CPU s")):
        lines.append(f"{title:<44}{'wall s':>18}{'CPU s':>18}")
        names = {**before[kind], **after[kind]}
        rows = [(name, before[kind].get(name, {}), after[kind].get(name, {})) for name in names]
        if kind == "tests":
            rows.sort(key=lambda row: -abs(row[2].get("cpu_s", 0) - row[1].get("cpu_s", 0)))
        for name, *runs in rows[:SLOWEST]:
            cells = [
                " → ".join(f"{run[key]:.1f}" if run else "–" for run in runs)
                for key in ("wall_s", "cpu_s")
            ]
            lines.append(f"{name:<44}{cells[0]:>18}{cells[1]:>18}")
        if len(rows) > SLOWEST:
            lines.append(f"and {len(rows) - SLOWEST} more")
    lines.append("–: it is not in that run")
    return "\n".join(lines + growth(before, after))


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise SystemExit(f"error: {path} cannot be read: {error}") from error


def _read_run(path: Path) -> dict[str, Any]:
    found = _read(path)
    if not {"stages", "tests"} <= set(found):
        raise SystemExit(f"error: {path} is no gate.json or nightly.json")
    return found


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    testing = modes.add_parser("test", help="run the gate")
    testing.add_argument("--against", type=Path, help="gate.json of an earlier run")
    slow = modes.add_parser("nightly", help="run what is too slow for the gate")
    slow.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(NIGHTLY))
    comparing = modes.add_parser("compare", help="compare two runs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.mode == "compare":
        print(compare(_read_run(given.before), _read_run(given.after)))
        return 0
    if given.mode == "test":
        before = _read_run(given.against) if given.against else None
        return _run("gate", TEST, before)
    if unknown := set(given.stages) - NIGHTLY.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(NIGHTLY)}")
    return _run("nightly", _nightly(given.stages or [*NIGHTLY]), None)


def _run(name: str, stages: tuple[Stage, ...], before: dict[str, Any] | None) -> int:
    """Run stages; print what they took, and write it to ``NAME.json``; return the exit code."""
    # A run that is stopped stops its stages.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    shutil.rmtree(COSTS, ignore_errors=True)
    COSTS.mkdir()
    began = time.monotonic()
    try:
        done, last_line = run_stages(stages)
    except KeyboardInterrupt:
        return 130
    result = {
        "wall_s": round(time.monotonic() - began, 1),
        "stages": done,
        "tests": {
            path: file | {"stage": costs.stem}
            for costs in COSTS.glob("*.json")
            for path, file in _read(costs).items()
        },
    }
    (ROOT / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"\n{table(result)}\n")
    if name == "nightly":
        print(f"{outcomes(result)}\n")
    if before is not None:
        print("\n".join(growth(before, result)))
    failed = [stage for stage, ended in done.items() if ended["outcome"] != "passed"]
    if failed:
        print(f"failed: {', '.join(failed)}")
    # Pytest's closing line comes last, for people and programs that look for it there.
    print(last_line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
