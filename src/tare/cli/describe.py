"""``tare describe``: what there is, from the registry."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table

from tare import registry
from tare.cli import output
from tare.errors import ExperimentError

#: What can be asked for; kernels, metrics and probes are the agent's to tell.
KINDS = (
    "kernels",
    "metrics",
    "probes",
    "workloads",
    "platforms",
    "loads",
    "checks",
    "settings",
    "formats",
    "statistics",
    "findings",
    "charts",
)
#: Packages that are called otherwise than what they hold.
_PACKAGES = {"charts": "report.charts", "checks": "doctor", "formats": "interop"}
#: Columns of the tables; ``--json`` has more.
PLATFORM, METRIC, UNIT = ["name", "works", "why", "fix"], ["name", "meaning"], ["name", "title"]


def describe(
    kind: Annotated[
        str | None, typer.Argument(help=", ".join(KINDS) + ". Default: all.", metavar="[KIND]")
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="As JSON; `-`: standard output.")
    ] = None,
) -> None:
    """Tell what there is: kernels, probes, platforms, loads, checks, statistics, findings, charts.

    Example: tare describe platforms --json -
    """
    if kind is not None and kind not in KINDS:
        raise ExperimentError(
            f"there is no kind {kind!r}", "tare describe   (one of: " + ", ".join(KINDS) + ")"
        )
    told = {name: _units(name) for name in ([kind] if kind else KINDS)}
    if json is not None:
        output.write_json({"version": 1, **told}, json)
        if json == "-":
            return
    for name, units in told.items():
        table = Table(title=name, title_justify="left", box=None, padding=(0, 2, 0, 0))
        columns = {"platforms": PLATFORM, "metrics": METRIC}.get(name, UNIT)
        for column in columns:
            table.add_column(column, overflow="fold")
        for unit in units:
            table.add_row(*(_word(unit.get(column)) for column in columns))
        output.out.print(table)


def _units(kind: str) -> list[dict[str, Any]]:
    from tare.catalogue import catalogue

    if kind in ("kernels", "metrics", "probes"):
        found = getattr(catalogue(), kind).values()
        return [msgspec.to_builtins(unit) for unit in found]
    if kind == "platforms":
        from tare import platforms

        return [_platform(stack) for stack in platforms.offered()]
    units = registry.scan(_PACKAGES.get(kind, kind)).values()
    return [_row(unit.description) for unit in units if not getattr(unit, "double", False)]


def _platform(stack: str) -> dict[str, Any]:
    from tare import platforms

    found = platforms.availability(stack)
    innermost = registry.scan("platforms")[stack.rsplit("/", maxsplit=1)[-1]]
    told = {"works": found.works, "why": found.why, "fix": found.fix}
    return {**_row(innermost.description), "name": stack, **told}


def _row(description: registry.Description) -> dict[str, Any]:
    return {
        "name": description.name,
        "title": description.title,
        "question": description.question,
    }


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
