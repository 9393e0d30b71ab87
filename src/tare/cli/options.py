"""Options that several commands have; each means the same in all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tare import extras
from tare.cli import quantities
from tare.errors import UsageError


def rare(*names: str, metavar: str, help: str, **more: Any) -> Any:
    """Return an option that the help only names."""
    return typer.Option(*names, metavar=metavar, hidden=True, help=help, **more)


# How many.
Trials = Annotated[
    int | None,
    typer.Option(
        "--trials", "-n", metavar="N", parser=quantities.trials, help="Fixed number of trials."
    ),
]
_MIN_TRIALS = "Conclude from no fewer trials: rare failures need many."
MinTrials = Annotated[
    int | None, rare("--min-trials", metavar="N", parser=quantities.trials, help=_MIN_TRIALS)
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Time limit. [default: 10 s; none with -n]"),
]
_WARMUP = "Unmeasured executions before each measured one."
Warmup = Annotated[int, rare("--warmup", "-w", metavar="N", min=0, help=_WARMUP)]
Timeout = Annotated[
    str | None, typer.Option(metavar="TIME", help="Kill an execution that takes longer.")
]
Grace = Annotated[
    str, rare(metavar="TIME", help="Grace period of children that outlive the command.")
]
Seed = Annotated[int | None, rare(metavar="N", min=0, help="Seed of random orders.")]

# Where.
Platform = Annotated[
    str, typer.Option("--platform", "-p", metavar="STACK", help="Stack of layers, outermost first.")
]
Platforms = Annotated[
    list[str] | None,
    typer.Option(
        "--platform", "-p", metavar="STACK",
        help="Stack of layers; repeatable. [default: bare]",
    ),
]  # fmt: skip
Image = Annotated[str | None, typer.Option(metavar="NAME", help="Image for a docker layer.")]
Size = Annotated[str, typer.Option(metavar="SIZE", help="Cores and memory, such as 2c8g.")]
Workers = Annotated[int, typer.Option(metavar="N", min=1, help="Concurrent instances.")]
Pinning = Annotated[
    str, typer.Option(metavar="HOW", help="none, spread, compact, pinned; or 0-1,3.")
]
Network = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="Emulated network: none, rate 200Mbit, bucket:c5.large …"),
]
Hosts = Annotated[
    int | None,
    rare(
        metavar="N",
        min=1,
        help="Hosts of the network (2); the command is on the first, {host2} is the second.",
    ),
]
_SERVE = "With --network: run on every other host meanwhile; repeatable."
Serve = Annotated[list[str] | None, rare(metavar="COMMAND", help=_SERVE)]
Key = Annotated[Path | None, typer.Option(metavar="FILE", help="Secret that both ends share.")]
AsRoot = Annotated[
    bool, typer.Option("--as-root", help="Under sudo: run commands as root, not as you.")
]
Strict = Annotated[
    bool,
    typer.Option("--strict", hidden=True, help="Exit with 17 if the machine changed meanwhile."),
]
_BISECT = "Exit codes for git bisect run: 0 good, 1 bad, 125 skip."
Bisect = Annotated[bool, typer.Option("--bisect", hidden=True, help=_BISECT)]

# Output.
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="DIR", help="Keep the results in a folder.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue what --out DIR holds.")]
Capture = Annotated[
    bool, typer.Option("--capture", help="Keep commands' output in --out DIR (1 MiB each).")
]
Fingerprint = Annotated[
    bool, typer.Option(help="With --out: do not probe the machine before and after.")
]
ContextSwitches = Annotated[
    bool,
    typer.Option(
        "--context-switches/--no-context-switches",
        hidden=True,
        help="Do not record context switches: less overhead, wall time excludes teardown.",
    ),
]
_NETWORK_FINGERPRINT = "Store this result of `tare net fingerprint --json` with the results."
NetworkFingerprint = Annotated[Path | None, rare(metavar="FILE", help=_NETWORK_FINGERPRINT)]
Store = Annotated[
    bool,
    typer.Option("--store/--no-store", help="Do not store it with the results of later sessions."),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a page: .html, .md (extra images), or .json."),
]
Markdown = Annotated[
    str | None,
    typer.Option(metavar="FILE|-", help="Write a table as Markdown; -: standard output."),
]
JUnit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write verdicts as JUnit XML.")]
_STEADY = "Use the steady part alone: without warm-up."
Steady = Annotated[bool, typer.Option("--steady", help=_STEADY)]
#: Of commands whose help has enough options; the reference has it.
HiddenSteady = Annotated[bool, typer.Option("--steady", help=_STEADY, hidden=True)]
Json = Annotated[
    str | None, typer.Option(metavar="FILE|-", help="Write results as JSON; -: standard output.")
]

Charts = Annotated[
    str | None,
    typer.Option(
        metavar="svg|png", help="Charts instead of a page, into --out DIR (extra images)."
    ),
]


def check_charts(charts: str | None, out: Path | None, report: Path | None) -> None:
    """Refuse options of charts and pages that do not go together.

    Raises
    ------
    UsageError
        If one of them would have no effect.
    TareError
        If charts need an extra that is not installed.
    """
    from tare.render.files import CHARTS

    if charts is None:
        if out is not None:
            raise UsageError(
                "--out is the folder of charts", "--charts svg --out DIR, or --report FILE"
            )
        return
    if charts not in CHARTS:
        raise UsageError(f"--charts {charts!r} is neither svg nor png", "--charts svg")
    if report is not None:
        raise UsageError(
            "--charts writes charts instead of a page",
            "one after the other: first with --charts, then with --report",
        )
    if out is not None and out.exists() and not out.is_dir():
        folder = out.with_name(f"{out.stem}-charts")
        raise UsageError(
            f"--out {out} is a file, and charts go into a folder",
            f"--charts {charts} --out {folder}",
        )
    extras.need("vl_convert")
