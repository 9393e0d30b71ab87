"""Task sets: what does a task cost besides its program, under tare and under BenchExec?

    benchmarks/task_sets.py [--tasks 2000] [--rounds 3] [--benchexec VENV]

A program that spins for 20 ms of CPU time runs on so many tasks, 2 at a time: under xargs, which
does nothing but start it, under BenchExec in containers (installed from PyPI, unless a venv is
named), and under ``tare tasks run`` on bare and bubblewrap. All limit CPU time and memory and check
the output, xargs excepted. Each round runs all in turn, in rotating order. Shown is the wall time
of the whole × 2 / tasks, less the program's own time by its own clock when it runs alone. As root,
about 30 minutes on two CPUs.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from tare.features.tasks.folder import load

HERE = Path(__file__).parent
SPUN_MS, PARALLEL = 20, 2
CPU_S, MEMORY_BYTES = 1, 64 << 20
#: Until what hangs is ended.
PATIENCE_S = 1800
#: Runs of the program alone, before each round.
ALONE = 100
EXPERIMENT = """
[experiment]
name = "overhead"
question = "What does a task cost besides its program?"
[tasks]
files = "tasks/*.in"
expected = "*.out"
parallel = {parallel}
timeout = "10 s"
enforce = {{ cpu = "{cpu} s", memory = "{memory}" }}
[factors]
platform = ["{platform}"]
[[workload]]
name = "spin"
command = ["{spin}", "{ms}", "-"]
"""
BENCHMARK = """<?xml version="1.0"?>
<benchmark tool="toolinfo.spin" timelimit="{cpu} s" memlimit="{memory} B">
  <option name="{ms}"/><option name="-"/>
  <rundefinition/>
  <tasks><include>tasks/*.in</include></tasks>
</benchmark>
"""
#: A tool-info module: it says that the output is as expected, or that it is not.
TOOL = """
from benchexec import result
from benchexec.tools.template import BaseTool2

class Tool(BaseTool2):
    def executable(self, tool_locator):
        return tool_locator.find_executable("spin")

    def name(self):
        return "spin"

    def cmdline(self, executable, options, task, rlimits):
        return [executable, *options]

    def determine_result(self, run):
        if run.exit_code.value != 0:
            return result.RESULT_ERROR
        good = list(run.output) == [{said!r}]
        return result.RESULT_TRUE_PROP if good else result.RESULT_FALSE_PROP
"""
SAID = f"spins for {SPUN_MS} ms"
#: What BenchExec can run tasks in, the best first, with its options; {} is what must be visible.
MODES = {
    "containers with overlays": ("--read-only-dir", "{}"),
    "read-only containers": (
        "--read-only-dir", "/", "--hidden-dir", "/home", "--read-only-dir", "{}",
    ),
    "no containers": ("--no-container",),
}  # fmt: skip


class FailedError(Exception):
    """A way of running the tasks did not run all of them well."""


def call(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run a command; return what it prints. Nothing of it is left behind."""
    with (folder / "printed").open("w+") as printed:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | str = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            code = f"no end in {PATIENCE_S} s"
        finally:
            # Children of BenchExec may hang for good, after its end or before (its issue 656).
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed.seek(0)
        said = printed.read()
    if code:
        last = (said.strip().splitlines() or ["it printed nothing"])[-1]
        raise FailedError(f"{Path(command[0]).name} ended with {code}: {last}")
    return said


def prepared(tasks: int) -> Path:
    """Make a folder with the program, the tasks, and what each tool reads."""
    folder = Path(tempfile.mkdtemp(prefix="task-sets-"))
    folder.chmod(0o755)
    compiler = ["cc", "-O2", "-static", "-o", "spin", str(HERE / "spin.c")]
    subprocess.run(compiler, cwd=folder, check=True)
    (folder / "tasks").mkdir()
    for number in range(tasks):
        (folder / f"tasks/{number:05}.in").write_text(f"{number}\n")
        (folder / f"tasks/{number:05}.out").write_text(f"{SAID}\n")
    words = {"cpu": CPU_S, "ms": SPUN_MS, "parallel": PARALLEL, "spin": folder / "spin"}
    for platform in ("bare", "bubblewrap"):
        text = EXPERIMENT.format(**words, platform=platform, memory=f"{MEMORY_BYTES >> 20} MiB")
        (folder / f"{platform}.toml").write_text(text)
    (folder / "overhead.xml").write_text(BENCHMARK.format(**words, memory=MEMORY_BYTES))
    (folder / "toolinfo").mkdir()
    (folder / "toolinfo/spin.py").write_text(TOOL.format(said=SAID))
    return folder


def alone_ms(folder: Path) -> float:
    """Return the median time of the program by its own clock, with nothing next to it."""
    log = folder / "alone"
    log.unlink(missing_ok=True)
    for _ in range(ALONE):
        subprocess.run([folder / "spin", str(SPUN_MS), log], check=True)
    return statistics.median(int(line.split()[0]) for line in log.read_text().splitlines()) / 1e6


def xargs(folder: Path) -> None:
    """Start the program once a task."""
    names = "\n".join(str(task) for task in (folder / "tasks").glob("*.in"))
    command = ["xargs", "-P", str(PARALLEL), "-I", "{}", folder / "spin", str(SPUN_MS), "-"]
    subprocess.run(command, input=names, text=True, stdout=subprocess.DEVNULL, check=True)


def tare(folder: Path, platform: str) -> None:
    """Run the set on a platform."""
    out = folder / f"out-{platform}"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "tare", "tasks", "run", f"{platform}.toml"]
    call([*command, "--out", str(out)], folder)
    results = Counter(load([out]).table["result"])
    if set(results) != {"correct"}:
        raise FailedError(f"not all tasks are solved: {dict(results)}")


class BenchExec:
    """BenchExec, as far as this machine lets it."""

    def __init__(self, folder: Path, venv: Path | None) -> None:
        if venv is None:
            venv = folder / "venv"
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            install = [venv / "bin/pip", "install", "--quiet", "benchexec==3.35"]
            subprocess.run(install, check=True)
        self.program = str((venv / "bin/benchexec").absolute())
        self.mode: str | None = None

    def choose(self, few: Path) -> None:
        """Take the first mode in which a few tasks run; print what cannot be used here."""
        for mode, options in MODES.items():
            try:
                said = self.run(few, mode)
            except FailedError as error:
                print(f"benchexec, {mode}: {error}")
                continue
            self.mode = mode
            print(f"benchexec, {mode}: used ({' '.join(options)})")
            found = re.findall(r" - (?:INFO|WARNING) - (.*)", said)
            for line in dict.fromkeys(found):
                print(f"benchexec: {line}")
            return

    def __call__(self, folder: Path) -> None:
        """Run the set."""
        if self.mode is None:
            raise FailedError("it runs in no mode")
        self.run(folder, self.mode)

    def run(self, folder: Path, mode: str) -> str:
        """Run the tasks of a folder and see that all are solved."""
        shutil.rmtree(folder / "results", ignore_errors=True)
        options = [option.replace("{}", str(folder)) for option in MODES[mode]]
        command = [self.program, "-N", str(PARALLEL), "-c", "1", *options, "overhead.xml"]
        path = f"{folder}:{os.environ['PATH']}"
        said = call(command, folder, {"PYTHONPATH": str(folder), "PATH": path})
        (file,) = (folder / "results").glob("*.xml.bz2")
        root = ElementTree.fromstring(bz2.decompress(file.read_bytes()))
        statuses = [column.get("value") for column in root.iterfind("run/column[@title='status']")]
        solved, tasks = statuses.count("true"), len(list((folder / "tasks").glob("*.in")))
        if solved != tasks:
            failures = re.findall(r" - CRITICAL - (.*)", said) or ["no reason is given"]
            raise FailedError(f"{solved} of {tasks} tasks are solved: {failures[0]}")
        return said


def measured(
    ways: dict[str, Callable[[Path], None]], folder: Path, tasks: int, rounds: int
) -> dict[str, list[float]]:
    """Return the overhead of a task in ms, of each way and round; print why a way fails."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        own = alone_ms(folder)
        print(f"round {number + 1}: the program alone takes {own:.2f} ms", flush=True)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began = time.monotonic()
            try:
                ways[name](folder)
            except FailedError as error:
                print(f"{name}: {error}")
                continue
            wall_s = time.monotonic() - began
            found[name].append(wall_s * 1e3 * PARALLEL / tasks - own)
            print(f"{name:<20} {wall_s:8.2f} s, {found[name][-1]:8.2f} ms a task", flush=True)
    return found


def main() -> None:
    """Print the overhead of a task in each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--benchexec", type=Path, help="venv in which BenchExec is installed")
    options = parser.parse_args()
    folder, few = prepared(options.tasks), prepared(PARALLEL)
    benchexec = BenchExec(folder, options.benchexec)
    benchexec.choose(few)
    ways: dict[str, Callable[[Path], None]] = {
        "xargs": xargs,
        "benchexec": benchexec,
        "tare, bare": lambda folder: tare(folder, "bare"),
        "tare, bubblewrap": lambda folder: tare(folder, "bubblewrap"),
    }
    try:
        found = measured(ways, folder, options.tasks, options.rounds)
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(few)
    middle = {name: statistics.median(values) for name, values in found.items() if values}
    for name, overhead in middle.items():
        low, high = min(found[name]), max(found[name])
        shown = f"{name:<20} {overhead:8.2f} ms a task ({low:.2f} to {high:.2f})"
        if "benchexec" in middle:
            shown += f", {overhead / middle['benchexec']:6.1%} of BenchExec's"
        print(shown)


if __name__ == "__main__":
    main()
