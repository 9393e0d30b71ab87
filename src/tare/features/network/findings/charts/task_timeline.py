"""Tasks by host over the time of one trial, with what hosts send and the tokens that are left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tare.errors import StoreError
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.features.network.findings.task_cells import TaskCell, tasks_seen
from tare.features.network.findings.task_stragglers import QUESTION, stragglers
from tare.registry import Description
from tare.render.drawing import (
    MOST_MARKS,
    SERIES,
    Chart,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.escaping import on_one_line
from tare.render.words import shown
from tare.results.columns import Columns, objects
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

#: Cells; each has one trial, and tasks that are drawn at most, the longest.
_MOST_CELLS = 2
_MOST_TASKS = MOST_MARKS // 2
_GUTTER, _HEIGHT = 120, 110
#: Pixels of a host's lane, of all lanes at most, and of the thinnest.
_LANE, _MOST_LANES, _LEAST_LANE = 30, 420, 14
_S, _GBIT, _BYTE = 1e9, 1e9, 8
#: Hosts that are not in question.
_OTHERS = "other hosts"


@dataclass(frozen=True, eq=False)
class _Drawn:
    """One cell's trial that is drawn, and the hosts in question."""

    cell: TaskCell
    trial: int
    rows: Columns
    log: Columns
    marked: tuple[int, ...]

    @property
    def hosts(self) -> list[int]:
        return sorted({*self.cell.hosts, *self.rows["host"].tolist(), *self.marked})

    @property
    def end_s(self) -> float:
        return float(np.max(self.rows["start_ns"] + self.rows["duration_ns"])) / _S


def _drawn(results: Results) -> list[_Drawn]:
    """Choose the cells with a straggler, else the first; of each, the trial of median duration."""
    seen = tasks_seen(results)
    named = stragglers(seen)
    slow = {one.cell.cell for one in named}
    cells = [cell for cell in seen.cells if cell.cell in slow] or list(seen.cells[:1])
    if not cells:
        return []
    lasting = dict(
        zip(results.trial_table["trial"], results.trial_table["duration_ns"], strict=True)
    )
    counts = results.task_counts()
    found = []
    for cell in cells[:_MOST_CELLS]:
        hosts = dict.fromkeys(one.host for one in named if one.cell is cell)
        trials = sorted((one.trial for one in cell.trials), key=lambda trial: lasting[trial])
        trial = trials[(len(trials) - 1) // 2]
        log = results.network_log.where(trial=trial)
        assert results.task_files is not None
        try:
            rows = results.task_files.read(trial, counts[trial])
        except StoreError:
            continue
        found.append(_Drawn(cell, trial, rows, log, tuple(hosts) or _sends_most(log)))
    return found


def _sends_most(log: Columns) -> tuple[int, ...]:
    sent = log.reduced("host", "sent_bytes", np.max)
    return (max(sent, key=lambda host: sent[host]),) if any(sent.values()) else ()


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a trial: bars of tasks in lanes of hosts; below, rates and tokens over the same time."""
    panels: list[Chart] = []
    for one in _drawn(results):
        title = f"trial {one.trial}"
        if one.cell.levels is not None:
            title = f"{title} {shown(one.cell.levels)}"
        scale = {"domain": [0, one.end_s or 1.0], "nice": False}
        x = field("at:Q", title=None, axis={"tickCount": 8, "grid": True}, scale=scale)
        panels.append(_tasks(one, x, title))
        lines = _lines(one)
        last = {**x, "title": "seconds since the trial's start"}
        if not lines:
            panels[-1] = _tasks(one, last, title)
            continue
        with_tokens = one.cell.bucket
        panels.append(_course(one, lines, "rate", "sent (Gbit/s)", x if with_tokens else last))
        if with_tokens:
            panels.append(_course(one, lines, "tokens", "tokens left (Gbit)", last))
    if not panels:
        return None
    apart = {"scale": {"color": "independent"}}
    return styled({"vconcat": panels, "spacing": 8, "resolve": apart}, gutter=_GUTTER)


def _tasks(one: _Drawn, x: dict[str, Any], title: str) -> Chart:
    longest = np.argsort(-one.rows["duration_ns"], kind="stable")[:_MOST_TASKS]
    rows = one.rows.rows(longest).sorted_by("start_ns")
    stages = [on_one_line(str(s)) for s in dict.fromkeys(rows["stage"])]
    records = [
        {
            "at": _rounded(start / _S), "end": _rounded((start + duration) / _S),
            "host": f"host {host}", "slot": slot, "stage": on_one_line(str(stage)),
            "task": on_one_line(str(task)), "s": _rounded(duration / _S),
            "waits": None if math.isnan(wait) else _rounded(wait / _S), "failed": bool(failed),
        }
        for start, duration, host, slot, stage, task, wait, failed in zip(
            rows["start_ns"], rows["duration_ns"], rows["host"], _slots(rows), rows["stage"],
            rows["task"], rows["wait_ns"], rows["failed"], strict=True,
        )
    ]  # fmt: skip
    lane = max(_LEAST_LANE, min(_LANE, _MOST_LANES // max(1, len(one.hosts))))
    hosts = [f"host {h}" for h in one.hosts]
    scale = {"domain": hosts, "paddingInner": 0.15}
    legend = {"title": "stage"} if len(stages) <= len(SERIES) else None
    channels = {
        "x": x,
        "x2": field("end"),
        "y": field("host:N", sort=hosts, title=None, scale=scale),
        "yOffset": field("slot:O"),
        "color": category("stage", stages, SERIES, legend=legend),
        "tooltip": [field("host:N"), field("stage:N"), field("task:N"),
                    field("at:Q", title="start, s"), field("s:Q", title="seconds"),
                    field("waits:Q", title="waits, s"), field("failed:N")],
    }  # fmt: skip
    bars = mark("bar", channels, records, clip=True, stroke=colour("page"), strokeWidth=0.5)
    size = {"width": panel_width(1, _GUTTER), "height": lane * len(hosts)}
    return {**bars, **size, "title": title}


def _slots(rows: Columns) -> list[int]:
    """Give tasks that a host runs at once places of their own."""
    free: dict[int, list[float]] = {}
    found = []
    for host, start, lasts in zip(rows["host"], rows["start_ns"], rows["duration_ns"], strict=True):
        ends = free.setdefault(host, [])
        slot = next((i for i, end in enumerate(ends) if end <= start), len(ends))
        ends[slot : slot + 1] = [start + lasts]
        found.append(slot)
    return found


def _lines(one: _Drawn) -> Columns:
    """Return rate and tokens of each host at moments of the trial."""
    hosts = len(one.log.distinct("host"))
    parts = []
    for host, log in one.log.groups("host"):
        step = max(1, -(-len(log) * 2 * hosts // MOST_MARKS))
        kept = log.rows(range(0, len(log), step))
        at = kept["at_ns"] / _S
        sent = kept["sent_bytes"] * _BYTE / _GBIT
        passed = np.diff(at)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(passed > 0, np.diff(sent) / passed, np.nan)
        tokens = kept["tokens_bits"] / _GBIT
        name = f"host {host}" if host in one.marked else _OTHERS
        parts.append(Columns({
            "at": at, "rate": np.concatenate([[np.nan], rate]), "tokens": tokens,
            "host": kept["host"], "name": objects([name] * len(kept)),
        }))  # fmt: skip
    return Columns.concatenated(parts)


def _course(one: _Drawn, lines: Columns, key: str, title: str, x: dict[str, Any]) -> Chart:
    records = [
        {"at": _rounded(at), key: _rounded(y), "host": f"host {host}", "name": name}
        for at, y, host, name in zip(
            lines["at"], lines[key], lines["host"], lines["name"], strict=True
        )
        if np.isfinite(y) and at <= one.end_s
    ]
    names = [f"host {host}" for host in one.marked]
    colours = [colour("mark"), *SERIES][: len(names)]
    shape = "linear" if key == "tokens" else "step-before"
    is_other = f"datum.name === '{_OTHERS}'"
    return layer(
        mark("line", {}, where=is_other, strokeWidth=1, opacity=0.7, interpolate=shape),
        mark("line", {}, where=f"!({is_other})", strokeWidth=2, interpolate=shape),
        rows=records,
        channels={
            "x": x,
            "y": field(f"{key}:Q", title=title, scale={"zero": True}),
            "color": category(
                "name", [*names, _OTHERS], [*colours, colour("quiet")], legend={"title": None}
            ),
            "detail": field("host:N"),
            "tooltip": [field("host:N"), field("at:Q", title="s"), field(f"{key}:Q")],
        },
        width=panel_width(1, _GUTTER),
        height=_HEIGHT,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say which trials are drawn, and how often hosts in question had no tokens."""
    drawn = _drawn(results)
    if not drawn:
        return (message("no tasks can be shown"),)
    said = [
        message(
            "the tasks of the trial of median duration, a lane a host; below, what each host "
            "sends{% if tokens %} and the tokens in its bucket{% endif %}, over the same time",
            tokens=any(one.cell.bucket for one in drawn),
        )
    ]
    for one in drawn:
        trial = next(t for t in one.cell.trials if t.trial == one.trial)
        hosts = [
            message(
                "host {host} sends {sent}{% if empty %}, its bucket empty for {empty} of the "
                "stages that read{% endif %}",
                host=host,
                sent=Amount(trial.sent_bytes.get(host), "bytes"),
                empty=None if host not in trial.empty else Amount(trial.empty[host], "share"),
            )
            for host in one.marked
            if host in trial.sent_bytes
        ]
        said.append(
            message(
                "{% if at %}{at}: {% endif %}trial {trial} has {tasks | counted('task')} of "
                "{stages | counted('stage')} on {hosts | counted('host')}{% if more %}, of "
                "which the {more} shortest are not drawn{% endif %}{% for host in of %}; "
                "{host}{% endfor %}",
                at=one.cell.levels,
                trial=one.trial,
                tasks=len(one.rows),
                more=max(0, len(one.rows) - _MOST_TASKS),
                hosts=len(one.hosts),
                stages=len(one.rows.distinct("stage")),
                of=hosts,
            )
        )
    return tuple(said)


UNIT = ChartUnit(
    description=Description(
        name="task_timeline",
        title="Tasks by host over the time of one trial, what hosts send, and tokens left",
        question=QUESTION,
        source="CLOUDNET, Figures 15 and 18",
    ),
    draw=draw,
    alternative=alternative,
    of_levels=True,
)
