"""Are forks, switches and page faults what others measure?

Alternating runs: of the probes (a session of quick rounds, their median), of lmbench (an external
reference, built by whoever runs this: its medians of 11), and of ``processes.c``, which times and
counts the same without tare. Each on one CPU, with the machine's favour where it can be had (nice
does nothing across sessions; the session's own group is what counts), so that what else the machine
does weighs on all of them alike. ``best`` is the least run, ``spread`` the largest run over the
least, less one, ``ratio`` tare's best over the other's.

    .venv/bin/python benchmarks/probe_processes.py [--lmbench DIR] [--runs 5] [--rounds 7]

DIR holds lat_proc, lat_pipe, lat_ctx and lat_pagefault, somewhere; ``hello`` is where lat_proc
looks for it, in /tmp. A folder ``static`` in it may hold a lat_proc built with -DSTATIC -static,
which executes /tmp/hello-s.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.session.probing import Given, Turn, perform_round

HERE = Path(__file__).parent
#: Microseconds of one of lmbench's timings, where it would find out for itself, for minutes.
ENOUGH = "20000"
PROBES = ("process", "thread", "switch", "fault", "cores")

Runs = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lmbench", type=Path, metavar="DIR")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools: dict[str, Callable[[], dict[str, float]]] = {
            "tare": lambda: tare(options.rounds, options.directory),
            **{name: bind(own, name, options) for name, own in compiled(Path(folder)).items()},
        }
        if options.lmbench:
            tools["lmbench"] = bind(lmbench, options.lmbench, options)
        runs: dict[str, Runs] = {name: {} for name in tools}
        for _ in range(options.runs):
            for name, run in tools.items():
                for what, value in run().items():
                    runs[name].setdefault(what, []).append(value)
    table(runs)


def bind(run: Callable, what, options: argparse.Namespace) -> Callable[[], dict[str, float]]:
    return lambda: run(what, options)


def compiled(folder: Path) -> dict[str, Callable]:
    """The reference program, as it would be built and as the agent is."""
    programs = {}
    for name, flags in {"own": [], "own static": ["-static"]}.items():
        program = folder / name.replace(" ", "-")
        command = ["cc", "-O2", "-pthread", *flags, "-o", str(program), str(HERE / "processes.c")]
        if subprocess.run(command, check=False).returncode == 0:
            programs[name] = lambda which, options, at=program: own(at, which, options)
    return programs


def favoured(command: list[str], cpu: int | None = None) -> list[str]:
    """A session of its own with as much of the machine as may be had."""
    favour = "echo -20 2>/dev/null >/proc/self/autogroup; renice -n -20 $$ >/dev/null 2>&1; "
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    return ["setsid", "-w", "sh", "-c", favour + 'exec "$@"', "sh", *pinned, *command]


def tare(rounds: int, directory: Path) -> dict[str, float]:
    values: Runs = {}
    given = Given(directory=str(directory))
    with closing(Agent(ProcessChannel(favoured([str(binary()), "serve"])))) as agent:
        for number in range(rounds):
            for probe in PROBES:
                done = perform_round(agent, Turn(probe, number, 60), given)
                for reading in done.readings:
                    name = ".".join([reading.metric, *map(str, reading.at)])
                    values.setdefault(name, []).append(reading.value)
                if number == 0:
                    for fault in done.faults:
                        print("tare:", fault.message)
    return {name: median(found) for name, found in values.items()}


def own(program: Path, name: str, options: argparse.Namespace) -> dict[str, float]:
    found: dict[str, float] = {}
    for what, *file in (
        ("fork",),
        ("fork_exit",),
        ("vfork",),
        ("thread",),
        ("spawn", binary()),
        ("exec", binary()),
        ("exec", Path("/tmp/hello")),
        ("exec", Path("/tmp/hello-s")),
        ("anonymous",),
        ("file", binary()),
        ("around", binary()),
        ("cow",),
        ("huge",),
        ("major", options.directory / f"tare-major-{os.getpid()}"),
    ):
        if what == "exec" and not file[0].exists():
            continue
        command = [str(program), what, *map(str, file)]
        ran = subprocess.run(
            favoured(command, options.cpu), check=False, capture_output=True, text=True
        )
        if ran.returncode:
            print(f"{name}: {what}: {ran.stderr.strip()}")
            continue
        ns, done, minor, major = map(float, ran.stdout.split())
        shown = f"exec {file[0].name}" if what == "exec" else what
        found[shown] = ns
        found[f"{shown}, faults each"] = (minor + major) / done
    return found


def lmbench(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Nanoseconds by name of the program and its argument."""
    found: dict[str, float] = {}
    for name, argument in (
        ("lat_proc", "fork"),
        ("lat_proc", "exec"),
        ("lat_proc", "shell"),
        ("static/lat_proc", "fork"),
        ("static/lat_proc", "exec"),
        ("lat_pipe", ""),
        ("lat_ctx", "2"),
        ("lat_pagefault", str(binary())),
    ):
        programs = sorted(folder.rglob(name))
        if not programs:
            continue
        ran = subprocess.run(
            favoured([str(programs[0]), *filter(None, [argument])], options.cpu),
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "ENOUGH": ENOUGH},
        )
        numbers = re.findall(r"(?m)(?:: |^2 )([\d.]+)(?: microseconds)?$", ran.stdout + ran.stderr)
        if numbers:
            found[f"{name} {argument}".split(" /")[0].strip()] = float(numbers[-1]) * 1e3
    return found


#: What tare's figures are held against: tool and its name for the same.
BESIDE = {
    "process.fork": (
        ("own static", "fork"),
        ("own static", "fork_exit"),
        ("lmbench", "static/lat_proc fork"),
        ("own", "fork_exit"),
        ("lmbench", "lat_proc fork"),
    ),
    "process.vfork": (("own static", "vfork"),),
    "process.posix_spawn_smallest": (("own static", "spawn"),),
    "thread.create_join": (("own static", "thread"),),
    "process.exec_smallest": (
        ("own static", "exec tare-agent"),
        ("own static", "exec hello-s"),
        ("lmbench", "static/lat_proc exec"),
        ("own", "exec hello"),
        ("lmbench", "lat_proc exec"),
    ),
    "process.shell": (("lmbench", "lat_proc shell"),),
    "switch.round_trip_process": (("lmbench", "lat_pipe"),),
    "switch.process": (("lmbench", "lat_ctx 2"),),
    "fault.minor_anonymous": (("own", "anonymous"),),
    "fault.minor_file": (("own", "file"), ("lmbench", "lat_pagefault")),
    "fault.minor_file_around": (("own", "around"), ("lmbench", "lat_pagefault")),
    "fault.copy_on_write": (("own", "cow"),),
    "fault.huge": (("own", "huge"),),
    "fault.major": (("own", "major"),),
}


def table(runs: dict[str, Runs]) -> None:
    print(f"{'ns':<38}{'best':>12}{'median':>12}{'spread':>9}{'ratio':>8}")
    for metric, values in runs["tare"].items():
        print(line(metric, values))
        for tool, name in BESIDE.get(metric, ()):
            beside = runs.get(tool, {}).get(name)
            if beside:
                ratio = min(values) / min(beside)
                print(line(f"    {tool}: {name}", beside) + f"{ratio:>8.2f}")
    print("\nfaults, as the kernel counts them, of one")
    for tool in ("own", "own static"):
        for name, values in runs.get(tool, {}).items():
            if name.endswith(", faults each"):
                print(f"    {tool}: {name.split(',')[0]:<24}{median(values):>8.3f}")


def line(name: str, values: list[float]) -> str:
    best = min(values)
    digits = 1 if best < 1e5 else 0
    spread = max(values) / best - 1
    return f"{name:<38}{best:>12.{digits}f}{median(values):>12.{digits}f}{spread:>9.1%}"


if __name__ == "__main__":
    main()
