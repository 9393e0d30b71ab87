"""Options of commands that measure programs, and what an experiment file has of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tare.errors import Typed
from tare.options import kinds, shared
from tare.options.option import (
    HOW_MANY,
    OUTPUT,
    WHAT,
    WHERE,
    Key,
    Option,
    Options,
    flag,
    like,
    option,
)
from tare.streams import NULL

#: More than any machine has room for, few enough that a slip of the finger is refused.
MANY = 1_000_000
#: Addresses of the network end at 254; each host takes a namespace and a shaper.
MOST_HOSTS = 64
#: A worker is a process; more than this is a slip of the finger.
MOST_WORKERS = 4096
EXPERIMENT, STOPPING, WORKLOAD, COMMAND = "experiment", "stopping", "workload", "command"
FACTORS, NETWORK = "factors", "network"
#: Tables of an experiment file to the parts of them that have names of their own here.
PARTS = {EXPERIMENT: (STOPPING,), WORKLOAD: (COMMAND,)}
#: Options of other commands and of hyperfine, to what to do instead.
FOREIGN = {
    **Options.foreign,
    **dict.fromkeys(("--gate", "--margin"), "compare commands with tare compare, which has it"),
    **dict.fromkeys(("--baseline-name", "--command-name"), Typed("--name")),
    **dict.fromkeys(("--runs", "-r"), Typed("-n")),
    **dict.fromkeys(("--min-runs", "--max-runs", "-m", "-M"), "leave it out, or --budget"),
    **dict.fromkeys(("--export-csv", "--export-asciidoc"), "write JSON with --export-json"),
    **dict.fromkeys(("--capture", "--show-output"), "write it to a file with --output FILE"),
    **dict.fromkeys(("--style", "--sort", "--time-unit", "-u"), "leave it out"),
    "--export-markdown": Typed("--markdown"),
    "--reference": "name it first: the first command is the reference",
    "-c": Typed("--cleanup"),
    "-s": Typed("--setup"),
}


def _platforms() -> list[str]:
    from tare.registry import units_of

    layers = units_of("platform")
    return [name for name in layers if not getattr(layers[name], "double", False)]


def _metrics() -> list[str]:
    """Return the metrics that the agent describes, as people name them: without their units."""
    import subprocess

    from tare.agent import client
    from tare.decoding import builtins

    done = subprocess.run([str(client.binary()), "describe"], capture_output=True, check=True)
    names = [one["name"] for one in builtins(done.stdout)["metrics"]]
    return [name.removesuffix("_ns").removesuffix("_bytes") for name in names]


STACK = kinds.WORD.offering(_platforms, "STACK")
METRIC = kinds.NAME.offering(_metrics, "METRIC")
_LINE = kinds.Kind("a line for a shell", str, metavar="LINE")

# What some of the commands have, in their order in the file.
PRECISION: Any = option(
    kinds.share(0, 1, "2%"), "Precision at which to stop.", group=HOW_MANY, shown="2%",
    table=STOPPING, key="precision",
    meaning="go on by block until the median of every cell is known this well (half-width of its "
    "interval, relative)",
)  # fmt: skip
QUANTILE: Any = option(
    kinds.QUANTILE, "Quantile of the precision target.", rare=True, shown="median",
    table=STOPPING, key="quantile",
    meaning="the quantile that `precision` is about, in place of the median",
)  # fmt: skip
GATE: Any = option(
    kinds.share(0, 10, "2%"),
    "For CI: exit 0 if not slower by this, 1 if slower, 2 if inconclusive.", group=WHAT,
    table=STOPPING, key="gate",
    meaning="with `compare`: go on until every ratio is safely below or above 1 + this",
)  # fmt: skip
GATE_ON: Any = option(
    kinds.GATE_ON, "Statistic that the gate judges: median, mean, p90 …", rare=True,
    shown="median", table=STOPPING, key="gate_on",
    meaning="what the gate judges: `median`, `mean`, or a quantile such as `p90`; the latter two "
    "see what a few slow runs do, and are judged once, at the end",
)  # fmt: skip
MIN_TRIALS: Any = option(
    kinds.whole(1, MANY), "Conclude from no fewer trials: rare failures need many.", rare=True,
    table=STOPPING, key="min_trials",
    meaning="with `compare`: conclude from no fewer trials per cell, unless the budget ends "
    "before; of 44 trials at least one fails in 99 % of comparisons if a tenth of all do",
)  # fmt: skip
MARGIN: Any = option(
    kinds.share(0, 1, "2%"), "Smallest difference that matters.", group=WHAT, default=0.02,
    shown="2%", table=EXPERIMENT, key="margin",
    meaning="smallest difference between cells that matters",
)  # fmt: skip
INPUTS: Any = option(
    kinds.whole(1, MANY),
    "Replaces {seed} in a command by one of N seeds; both commands of a pair get the same one.",
    group=WHAT, table=EXPERIMENT, key="inputs",
    meaning="generated inputs that blocks cycle through",
)  # fmt: skip
SEED: Any = like(
    shared.SEED, table=EXPERIMENT, key="seed",
    meaning="everything random comes from it: order and inputs",
)  # fmt: skip
DIRECTORY: Any = option(
    kinds.Kind("a folder", str, metavar="DIR", is_path=True),
    "Where it runs; once, or once for each command.", rare=True, repeatable=True,
)  # fmt: skip


_OF_SOME: tuple[Option, ...] = (
    PRECISION, QUANTILE, GATE, GATE_ON, MIN_TRIALS, MARGIN, INPUTS, SEED,
)  # fmt: skip


#: The same of commands that compare.
FOREIGN_OF_COMPARE = {**FOREIGN, **dict.fromkeys(("--min-runs", "-m"), Typed("--min-trials"))}


class MeasuringOptions(Options):
    """Options that commands have in common which measure a program."""

    foreign: ClassVar[Mapping[str, str]] = FOREIGN

    name: list[str] = option(
        kinds.NAME, "Name of a command, once for each, in their order.", group=WHAT,
        repeatable=True, table=WORKLOAD, key="name",
        meaning="how it is called; the kernel's or the program's name by default",
    )  # fmt: skip
    metric: list[str] = option(
        METRIC, "wall (default), cpu, memory …; repeatable.", group=WHAT, repeatable=True,
        table=EXPERIMENT, key="metric", file_kind=kinds.METRICS, field="metrics",
        meaning="what the stopping rule and the answers are about; of a list, all must reach the "
        "precision, and the answers are about the first; with compare, the first is judged, and "
        "the others have columns in the table of all cells",
    )  # fmt: skip
    trials: int | None = like(
        shared.TRIALS, kind=kinds.whole(1, MANY, example=20), otherwise="--name",
        table=STOPPING, key="trials",
        meaning="fixed number of trials per cell, decided beforehand; excludes `precision`",
    )  # fmt: skip
    budget: float | None = option(
        kinds.DURATION, "Time limit.", group=HOW_MANY, shown="10 s; none with -n",
        table=STOPPING, key="budget", field="budget_s",
        meaning="time for measuring in one session; outranks trials and precision. Without it, "
        "`trials` alone bounds the experiment, and otherwise 10 min do",
    )  # fmt: skip
    timeout: float | None = like(
        shared.TIMEOUT,
        table=WORKLOAD, key="timeout", field="timeout_s",
        meaning="kill an execution that takes longer; the trial has then failed. In windows, a "
        "kernel has twice that and the window",
    )  # fmt: skip
    platform: Any = option(
        STACK, "Stack of layers, outermost first.", group=WHERE, short="-p", default="bare",
        once="compare platforms with tare run, which takes several",
    )  # fmt: skip
    size: str = option(
        kinds.WORD.offering(lambda: ("all", "1c", "2c", "2c8g"), "SIZE"),
        "Cores and memory, such as 2c8g.", group=WHERE, default="all", table=FACTORS, key="size",
    )  # fmt: skip
    workers: int = option(
        kinds.whole(1, MOST_WORKERS), "Concurrent instances.", group=WHERE, default=1,
        table=FACTORS, key="workers",
    )  # fmt: skip
    pinning: str = option(
        kinds.WORD.offering(lambda: ("none", "spread", "compact", "pinned"), "HOW"),
        "none, spread, compact, pinned; or 0-1,3.", group=WHERE, default="none",
        table=FACTORS, key="pinning",
    )  # fmt: skip
    warmup: int = option(
        kinds.whole(0, MANY), "Unmeasured executions before each measured one.", rare=True,
        short="-w", default=0, table=EXPERIMENT, key="warmup",
        meaning="unmeasured executions before them",
    )  # fmt: skip
    setup: list[str] = option(
        _LINE, "Shell line to run before the first trial; once, or once for each command.",
        rare=True, repeatable=True, table=COMMAND, key="setup", file_kind=kinds.TEXT,
        meaning="line for it before the first trial; on this machine, not in the platform; with "
        "placeholders",
    )  # fmt: skip
    prepare: list[str] = option(
        _LINE, "Shell line to run before every trial, outside its time.", rare=True,
        repeatable=True, table=COMMAND, key="prepare", file_kind=kinds.TEXT,
        meaning="the same before every trial; not in its time",
    )  # fmt: skip
    conclude: list[str] = option(
        _LINE, "Shell line to run after every trial.", rare=True, repeatable=True, table=COMMAND,
        key="conclude", file_kind=kinds.TEXT, meaning="the same after every trial",
    )  # fmt: skip
    cleanup: list[str] = option(
        _LINE, "Shell line to run after the last trial.", rare=True, repeatable=True,
        table=COMMAND, key="cleanup", file_kind=kinds.TEXT, meaning="the same after the last trial",
    )  # fmt: skip
    shell: str | None = option(
        kinds.Kind("a shell", str, metavar="SHELL"),
        "Run each argument as a line of this shell, such as sh or 'bash -e'; none: each is a "
        "command without one (-N).", rare=True, short="-S", spellings={"-N": "none"},
    )  # fmt: skip
    ignore_failure: tuple[int, ...] | None = option(
        kinds.EXITS, "Exit codes that are no failure, such as =1,2; alone: all are good.",
        rare=True, short="-i", bare="all", table=COMMAND, key="ignore_failure",
        meaning="exit codes that are no failure; true: all, and signals",
    )  # fmt: skip
    input: str | None = option(
        kinds.STREAM, "Standard input of each; -: that of tare itself.", rare=True,
    )  # fmt: skip
    output: str = option(
        kinds.OUTPUT, "Commands' output: null, pipe or a file.",
        group=OUTPUT, default=NULL, table=COMMAND, key="output",
        meaning="standard output and error: `/dev/null`; pipes that are read and dropped; or a "
        "file that keeps 1 MiB of them, relative to the folder of results, with `{trial}`, "
        "`{worker}`, `{iteration}` or levels in its name; errors go to the same name and `.err`",
    )  # fmt: skip
    quiet: bool = shared.QUIET


class DocumentOptions(Options):
    """Options of the files in which an answer is written."""

    report: Path | None = shared.REPORT
    markdown: str | None = shared.MARKDOWN
    json: str | None = shared.JSON


class _SessionOptions(MeasuringOptions):
    """Those of `SessionOptions` that the help lists before documents."""

    image: str | None = option(kinds.WORD, "Image for a docker layer.", group=WHERE, metavar="NAME")
    network: str | None = option(
        kinds.WORD.offering(
            lambda: ("none", "rate 200Mbit", "bucket:c5.large", "distribution:google"), "SPEC"
        ),
        "Emulated network: none, rate 200Mbit, bucket:c5.large …", group=WHERE, table=FACTORS,
        key="network",
    )  # fmt: skip
    as_root: bool = shared.AS_ROOT
    hosts: int | None = option(
        kinds.whole(1, MOST_HOSTS),
        "Hosts of the network (2); the command is on the first, {host2} is the second.",
        rare=True, table=NETWORK, key="hosts",
        meaning="hosts of the network; the command runs on the first",
    )  # fmt: skip
    serve: list[str] = option(
        kinds.WORD, "With --network: run on every other host meanwhile; repeatable.", rare=True,
        metavar="COMMAND", repeatable=True,
    )  # fmt: skip
    out: Path | None = shared.OUT
    resume: bool = shared.RESUME
    fingerprint: bool = flag(
        "With --out: do not probe the machine before and after.", group=OUTPUT, default=True,
        table=EXPERIMENT, key="fingerprint",
        meaning="probe the machine for 5 s before and after each session, so that it is known "
        "whether it stayed the same",
    )  # fmt: skip
    strict: bool = shared.STRICT
    steady: bool = like(
        shared.STEADY, table=EXPERIMENT, key="steady",
        meaning="take the steady part of trials alone: iterations, or trials, without their "
        "warm-up",
    )  # fmt: skip


class SessionOptions(DocumentOptions, _SessionOptions):
    """Options of commands whose session may take place on any platform, and may be kept."""


def keys(table: str) -> tuple[Key, ...]:
    """Return the keys of a table of an experiment file that are options of commands as well."""
    found = {
        one.key: one.as_key()
        for one in (*SessionOptions.records.values(), *_OF_SOME)
        if one.table == table and one.key
    }
    return tuple(found.values())
