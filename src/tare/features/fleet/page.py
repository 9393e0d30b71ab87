"""The page of a fleet: what holds on all hosts, by how much they differ, what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tare.experiment import failed_trials
from tare.features.fleet import phrases
from tare.features.fleet.answers import basis_said, called, cell, findings, odd_ones
from tare.features.fleet.results import Fleet
from tare.render.charts.by_size import by_size
from tare.render.charts.forest import MOST_ROWS, forest
from tare.render.charts.strips import Strip, strips
from tare.render.words import sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Change, Duration, Message, message
from tare.results.report import Figure, Origin, Report, Section
from tare.statistics.hosts import FEWEST_HOSTS, FEWEST_ODD
from tare.units import scale_for

_HOST_TEXTS_OF_WHY = {
    "lost": "{host} was lost: {why}",
    "refused": "{host} cannot measure this: {why}",
    "failed": "{host} ended early: {why}",
}
_HOST_TEXTS_OF_HOSTS = {
    "budget": "the budget of {hosts | listing} ended first",
    "interrupted": (
        "{hosts | listing} {% if hosts | length == 1 %}was{% else %}were{% endif %} interrupted"
    ),
}

#: Cells that have a panel.
_MOST_PANELS = 12


def make(fleet: Fleet, command: str) -> Report:
    """Lay the page out; ``command`` makes it again."""
    found = findings(fleet)
    question = fleet.record.question
    return Report(
        figures={"hosts": fleet.record.hosts},
        name=fleet.record.name,
        question=question,
        answers=tuple(said for one in found for said in one.head) or _none(fleet),
        strip=_strip(fleet),
        missing=tuple(_missing(fleet)),
        overview=(_strips(fleet),) if any(len(one.hosts) > 1 for one in fleet.cells) else (),
        cells=_hosts(fleet),
        sections=tuple(Section(one, _figures(one, fleet.experiment.margin)) for one in found),
        origin=Origin(
            commands=(command,),
            title="How to make this page again",
            seed=fleet.experiment.seed,
        ),
        notes=(*_one_machine(fleet), *_few(fleet)),
        calm="No host was lost.",
        rest=f"{command} --json -",
    )


def _one_machine(fleet: Fleet) -> tuple[Message, ...]:
    machines = {host.machine for host in fleet.record.hosts}
    if len(fleet.hosts) > 1 and len(machines) == 1 and all(machines):
        return (message(phrases.ONE_MACHINE),)
    return ()


def _few(fleet: Fleet) -> tuple[Message, ...]:
    most = max((len(one.hosts) for one in fleet.cells), default=0)
    if not 1 < most < FEWEST_HOSTS:
        return ()
    return (
        message(
            "at least {needed} hosts are needed to say what holds on the next host, and {odd} to "
            "say which host is odd",
            needed=FEWEST_HOSTS,
            odd=FEWEST_ODD,
        ),
    )


def _none(fleet: Fleet) -> tuple[Message, ...]:
    if isinstance(fleet.basis, Message):
        return (fleet.basis,)
    if not fleet.cells:
        return (message("no host has values above 0, so there is nothing to compare"),)
    return (
        message(
            "only {host} has good trials, so there is nothing to compare it with; its own report "
            "has the rest",
            host=fleet.hosts[fleet.cells[0].hosts[0]],
        ),
    )


def _strip(fleet: Fleet) -> tuple[tuple[str, str], ...]:
    trials = sum(own.trials for own in fleet.measured)
    machines = {host.machine for host in fleet.record.hosts if host.machine}
    return (
        ("hosts", f"{len(fleet.hosts)}"),
        *((("machines", f"{len(machines)}"),) if machines else ()),
        ("sessions", f"{sum(own.sessions for own in fleet.measured)}"),
        ("good trials", f"{trials:,}"),
    )


def _missing(fleet: Fleet) -> Iterator[Message]:
    for name, why in fleet.damaged.items():
        yield message("{host} is left out: {why}", host=name, why=why)
    for host in fleet.record.hosts:
        if host.ended in ("lost", "refused", "failed"):
            yield message(_HOST_TEXTS_OF_WHY[host.ended], host=host.name, why=host.why or "?")
        elif host.joined_s > 0:
            yield message(
                "{host} came {time} after the first", host=host.name, time=Duration(host.joined_s)
            )
    for name, n in fleet.silent.items():
        yield message(
            "{host} has no good trial: {failed | counted('trial')} failed", host=name, failed=n
        )
    failures = {
        name: (own.failures, own.trials + own.failures)
        for name, own in zip(fleet.hosts, fleet.measured, strict=True)
    }
    if (bad := failed_trials.said(failures)) is not None:
        yield bad
    for levels, names in fleet.without_ratio.items():
        yield message(
            "{cell}: {hosts | listing} {% if hosts | length == 1 %}is{% else %}are"
            "{% endif %} left out, as not all values there are above 0",
            hosts=names,
            cell=called(fleet, levels),
        )
    for levels, some in fleet.lacking.items():
        for name, failed in some.items():
            yield message(
                "{cell}: {host} has no good trial{% if failed %}; "
                "{failed | counted('trial')} failed{% endif %}",
                host=name,
                cell=called(fleet, levels),
                failed=failed,
            )
    for ended in ("budget", "interrupted"):
        if names := [host.name for host in fleet.record.hosts if host.ended == ended]:
            yield message(_HOST_TEXTS_OF_HOSTS[ended], hosts=names)


def _hosts(fleet: Fleet) -> Table:
    """Return a row a host: its level in each cell, and how it ended."""
    series = fleet.cells
    ended = {host.name: host for host in fleet.record.hosts}
    rows = []
    for place, name in enumerate(fleet.hosts):
        record = ended.get(name)
        row: dict[str, Any] = {
            "host": name,
            "sessions": fleet.measured[place].sessions,
            "trials": fleet.measured[place].trials,
            "failures": fleet.measured[place].failures,
            "ended": None if record is None else record.ended,
            "block": 1e9 * record.block_s if record and record.block_s else None,
            "own": None if record is None else record.own_cpu_share,
        }
        for number, one in enumerate(series):
            if place in one.hosts:
                row[f"c{number}"] = float(np.exp(one.level[one.hosts.index(place)]))
        rows.append(row)
    unit = "1" if isinstance(fleet.basis, Message) else fleet.basis.unit
    return Table(
        id="hosts",
        title=message(
            "Hosts, by their geometric means{% if basis %}, {basis}{% endif %}",
            basis=basis_said(fleet),
        ),
        columns=(
            Column(key="host", title="host"),
            Column(key="sessions", title="sessions", unit="1"),
            Column(key="trials", title="trials", unit="1"),
            Column(key="failures", title="failed", unit="1"),
            *(
                Column(key=f"c{number}", title=_title(fleet, number), unit=unit)
                for number in range(len(series))
            ),
            Column(key="block", title="a block", unit="ns"),
            Column(key="own", title="worker's CPU", unit="share"),
            Column(key="ended", title="ended"),
        ),
        rows=tuple(rows),
    )


def _title(fleet: Fleet, number: int) -> str:
    return text(cell(fleet, fleet.cells[number]))


def _strips(fleet: Fleet) -> Figure:
    """Draw the sessions of each host: a panel a cell."""
    odd = {(one.host, text(one.cell)) for one in odd_ones(fleet)}
    unit = "1" if isinstance(fleet.basis, Message) else fleet.basis.unit
    scale, shown = scale_for(np.exp([v for one in fleet.cells for v in one.sessions.mean]), unit)
    panels = []
    for number, one in enumerate(fleet.cells[:_MOST_PANELS]):
        title, own, level = _title(fleet, number), one.sessions, one.level
        panels.append((title, [
            Strip(
                fleet.hosts[host],
                float(np.exp(level[place])) / scale,
                (np.exp(own.mean[own.host == place]) / scale).tolist(),
                (fleet.hosts[host], title) in odd,
            )
            for place, host in enumerate(one.hosts)
        ]))  # fmt: skip
    heading = text(message("Each host: the means of its sessions, and of all of them"))
    said = message(
        "A panel for each cell, a line for each of {hosts | counted('host')}: a circle for "
        "each session, a bar for their mean{% if odd %}; odd hosts have diamonds and "
        "triangles{% endif %}",
        hosts=len(fleet.hosts),
        odd=bool(odd),
    )
    chart = strips(panels, shown)
    return Figure("hosts", heading, chart, sentence(said))


def _figures(finding: Finding, margin: float) -> tuple[Figure, ...]:
    """Draw each host's ratio, a picture a cell."""
    if (of_chr := next((one for one in finding.tables if one.id == "chr"), None)) is not None:
        return (_over_chr(of_chr),)
    tables = [table for table in finding.tables if table.id == "by_host"]
    by_cell = [rows for table in tables for rows in _by_cell(table)]
    return tuple(
        _forest(f"forest-{number}", rows, margin) for number, rows in enumerate(by_cell, 1)
    )


def _over_chr(table: Table) -> Figure:
    """Draw the overhead over CHR, a line a platform."""
    rows = [
        {"panel": "", "series": row["case"], "x": row["chr"], "at": row["ratio"],
         "low": row["low"], "high": row["high"]}
        for row in table.rows
    ]  # fmt: skip
    sizes = "CHR: assigned cores / host cores"
    chart = by_size(rows, "overhead ratio", sizes=sizes, logarithmic=True, line_at=1.0)
    hosts = len({row["host"] for row in table.rows})
    said = message(
        "Overhead ratio over CHR on logarithmic axes, {points | counted('size')} on "
        "{hosts | counted('host')}, with 95 % intervals; dashes are a ratio of 1",
        points=len(rows),
        hosts=hosts,
    )
    return Figure("chr", text(message("Overhead over CHR, hosts joined")), chart, sentence(said))


def _by_cell(table: Table) -> list[list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.rows:
        found.setdefault(text(row["cell"]), []).append(dict(row))
    return list(found.values())


def _forest(name: str, rows: Sequence[dict[str, Any]], margin: float) -> Figure:
    rows = sorted(rows, key=lambda row: float(str(row["ratio"])))
    hosts, half = len(rows), MOST_ROWS // 2
    if hosts > MOST_ROWS:
        rows = [*rows[:half], *rows[-half:]]
    ratios, lows, highs = ([float(str(row[key])) for row in rows] for key in _RATIO)
    title = message(
        "{cell}, relative to {reference}, on each host",
        cell=rows[0]["cell"],
        reference=rows[0]["to"],
    )
    chart = forest(
        [str(row["host"]) for row in rows], ratios, lows, highs, margin, text(title),
        n=[int(str(row["trials"])) for row in rows],
    )  # fmt: skip
    alternative = message(
        "Ratio of {% if ends %}the {ends} lowest and the {ends} highest of "
        "{hosts | counted('host')}{% else %}each of {hosts | counted('host')}{% endif %}, "
        "from {low} to {high}, each with its 95 % interval. The band is ± {margin}",
        hosts=hosts, low=Change(min(ratios)), high=Change(max(ratios)),
        margin=Amount(margin, "share"), ends=half if hosts > MOST_ROWS else None,
    )  # fmt: skip
    return Figure(name, text(title), chart, sentence(alternative))


_RATIO = ("ratio", "ratio_low", "ratio_high")
