"""``tare describe``: what there is, from the registry."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import msgspec

from tare import registry
from tare.cli import again, console
from tare.cli.call import Call
from tare.errors import ExperimentError, Typed, advice
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import Options, argument
from tare.registry import Availability
from tare.render.words import text
from tare.results.finding import Column, Table
from tare.results.message import message
from tare.results.report import Entry, Report
from tare.units import quantity

#: Kinds that ``tare describe`` lists; the agent itself lists kernels, metrics and probes.
KINDS = (
    "kernels",
    "metrics",
    "probes",
    "platforms",
    "loads",
    "checks",
    "settings",
    "formats",
    "findings",
    "charts",
    "applications",
)
#: Platforms that are tried side by side: a machine that boots takes a CPU.
AT_ONCE = 2
#: Example command, which every Linux system has.
COMMAND = "/bin/true"
#: Titles of columns by their key; ``--json`` has more.
UNIT = {"name": "name", "title": "title"}
COLUMNS = {
    "platforms": {"name": "name", "works": "works", "why": "why"},
    "metrics": {"name": "name", "meaning": "meaning"},
    "applications": {
        "name": "name", "question": "question", "parameters": "parameters", "needs": "needs",
        "image": "image",
    },
}  # fmt: skip
PARAMETER = {"name": "parameter", "default": "default", "meaning": "meaning"}


class DescribeOptions(Options):
    """Options of ``tare describe``."""

    kind: str | None = argument(
        kinds.WORD.offering(lambda: KINDS), "[KIND]", ", ".join(KINDS) + ".", shown="all"
    )
    names: list[str] = argument(
        kinds.WORD, "[NAME…]",
        "After platforms: only these, such as ssh:HOST/docker; after applications: these, with "
        "their parameters.", repeatable=True,
    )  # fmt: skip
    json: str | None = shared.JSON


@command(DescribeOptions, is_small=True)
def describe(given: DescribeOptions, call: Call) -> Report:
    """List platforms, kernels, probes, findings and other units.

    tare describe platforms --json -
    """
    kind, names = given.kind, given.names
    if kind is not None and kind not in KINDS:
        from tare.experiment.file import application

        near = difflib.get_close_matches(kind, KINDS, n=1)
        closest = " ".join(["tare describe", *near])
        raise ExperimentError(
            f"there is no kind {kind!r}",
            Typed(f"tare describe applications {kind}")
            if kind in application.built_in()
            else Typed(f"{closest}   (one of: {', '.join(KINDS)})"),
        )
    if names and kind not in ("platforms", "applications"):
        raise ExperimentError(
            f"only platforms and applications are named one by one ({' '.join(names)})",
            Typed(f"tare describe platforms {shlex.join(names)}"),
        )
    units = {name: _units(name, names) for name in ([kind] if kind else KINDS)}
    tables = [_table(name, COLUMNS.get(name, UNIT), rows) for name, rows in units.items()]
    if kind == "applications" and names:
        tables += [
            _table(f"{one['name']} --set", PARAMETER, one["parameters"])
            for one in units[kind]
            if one["parameters"]
        ]
    return Report(
        command="describe",
        name="describe",
        question=message("Which units are there?"),
        figures=units,
        entries=(
            Entry(
                "Listed",
                message(
                    "{n | counted('unit')}; --json has more of each",
                    n=sum(map(len, units.values())),
                ),
            ),
        ),
        further=tuple(tables),
    )


def _table(title: str, columns: Mapping[str, str], units: Sequence[Mapping[str, Any]]) -> Table:
    """Return units as rows; ``columns`` are titles by key."""
    return Table(
        title=message("{title}", title=title),
        id="units",
        columns=tuple(Column(key=key, title=title) for key, title in columns.items()),
        rows=tuple({key: _cell(unit, key) for key in columns} for unit in units),
    )


def _units(kind: str, names: Sequence[str]) -> list[dict[str, Any]]:
    from tare.experiment.catalogue import catalogue

    if kind in ("kernels", "metrics", "probes"):
        found = getattr(catalogue(), kind).values()
        return [msgspec.to_builtins(unit) for unit in found]
    if kind == "platforms":
        return _platforms(names)
    if kind == "applications":
        return _applications(names)
    units = registry.units_of(kind.removesuffix("s")).values()
    return [_row(unit.description) for unit in units if not getattr(unit, "double", False)]


def _platforms(stacks: Sequence[str]) -> list[dict[str, Any]]:
    """Try stacks, some side by side, and say on standard error which are being tried."""
    from tare import platforms

    asked = stacks or list(platforms.offered())
    for stack in stacks:
        platforms.layers(stack)  # a slip in the last is told before the first takes its time
    waiting = list(asked)
    with (
        console.err.status("") as status,
        ThreadPoolExecutor(max_workers=AT_ONCE) as threads,
    ):
        futures = {threads.submit(_tried, stack): stack for stack in asked}
        try:
            for future in as_completed(futures):
                waiting.remove(futures[future])
                status.update(f"trying platforms, {len(waiting)} left: {' '.join(waiting)}")
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    told = [_platform(stack, *future.result()) for future, stack in futures.items()]
    return told if stacks else [*told, *map(_untried, platforms.slow())]


def _applications(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what comes with tare or is named, what it needs, and whether it is built."""
    from tare.applications import image
    from tare.experiment.file import application

    rows = []
    for name in names or application.built_in():
        found = application.read(name)
        held = image.size_bytes(found)
        needs = found.image.packages or (found.image.oci or found.image.root or "",)
        rows.append(
            {
                "name": found.name,
                "question": found.question,
                "needs": list(needs),
                "parameters": [msgspec.to_builtins(one) for one in found.parameters],
                "metrics": [msgspec.to_builtins(one) for one in found.metrics],
                "image": "made when it is first run" if held is None else quantity(held, "bytes"),
                "image_bytes": held,
            }
        )
    return rows


def _tried(stack: str) -> tuple[Availability, Availability]:
    """Tell whether a stack works at all, and whether it runs commands of this machine."""
    from tare import platforms

    commands = platforms.availability(stack, {}, runs_commands=True, files=(COMMAND,))
    return commands if commands.works else platforms.availability(stack), commands


def _untried(stack: str) -> dict[str, Any]:
    fix = Typed(shlex.join(["tare", "describe", "platforms", stack]))
    found = Availability(
        name=stack,
        works=False,
        why=message("its start takes a minute where machines are emulated"),
        fix=fix,
    )
    return {**_platform(stack, found, found), "works": None, "commands": None}


def _platform(stack: str, found: Availability, commands: Availability) -> dict[str, Any]:
    layer = registry.units_of("platform")[stack.rsplit("/", maxsplit=1)[-1].partition(":")[0]]
    return {
        **_row(layer.description),
        "name": stack,
        "works": found.works,
        #: Commands of this machine's, without an image of the user's.
        "commands": commands.works,
        "emulated": found.emulated,
        # What is to be written after a colon, where it is not.
        "argument": None if ":" in stack else layer.argument,
        "why": commands.why and text(commands.why),
        "fix": commands.fix,
    }


def _row(description: registry.Description) -> dict[str, Any]:
    return {
        "name": description.name,
        "title": description.title,
        "question": description.question,
    }


def _cell(unit: Mapping[str, Any], column: str) -> str:
    value = unit.get(column)
    if isinstance(value, list):
        value = " ".join(one["name"] if isinstance(one, dict) else one for one in value)
    if column == "name" and unit.get("argument"):
        return f"{value}:{unit['argument']}"
    if column == "works":
        if value is None:
            return "not tried"
        works = "emulated" if unit["emulated"] else "yes" if unit["commands"] else "kernels"
        return works if value else "no"
    if column == "why" and value is not None:
        why = value.removeprefix(f"{unit['name']} did not start: ")
        fix = again.completed(unit["fix"])
        return why if fix is None else f"{why}\n  {advice(fix)}"
    if column == "why" and unit["emulated"]:
        return text(message("its times are those of a translator, and no measure of a machine"))
    return "" if value is None else str(value)
