"""Tasks by host over the time of one trial, with what hosts send and the tokens that are left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.errors import StoreError
from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.features.network.findings.charts.host_lines import host_lines, host_panels
from tare.features.network.findings.task_cells import TaskCell, tasks_seen
from tare.features.network.findings.task_stragglers import QUESTION, stragglers
from tare.registry import Description
from tare.render.charts.timelines import GUTTER, drawn_panels, short, time_axis
from tare.render.drawing import (
    MOST_MARKS,
    SERIES,
    Chart,
    category,
    colour,
    field,
    mark,
    panel_width,
    styled,
)
from tare.render.escaping import on_one_line
from tare.render.words import shown
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

#: Cells; each has one trial, and tasks that are drawn at most, the longest.
_MOST_CELLS = 2
_MOST_TASKS = MOST_MARKS // 2
_HEIGHT = 110
#: Pixels of a host's lane, of all lanes at most, and of the thinnest.
_LANE, _MOST_LANES, _LEAST_LANE = 30, 420, 14
_S = 1e9


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
        panels.append(_tasks(one))
        if one.log:
            tokens, rate = host_panels(host_lines(one.log), one.end_s, marked=one.marked)
            below = [rate, tokens] if one.cell.bucket else [rate]
            panels += drawn_panels(below, height=_HEIGHT)[0]
    if not panels:
        return None
    apart = {"scale": {"color": "independent"}}
    return styled({"vconcat": panels, "spacing": 8, "resolve": apart}, gutter=GUTTER)


def _tasks(one: _Drawn) -> Chart:
    x, second = time_axis(one.end_s or 1.0)
    second *= _S
    title = f"trial {one.trial}"
    if one.cell.levels is not None:
        title = f"{title} {shown(one.cell.levels)}"
    longest = np.argsort(-one.rows["duration_ns"], kind="stable")[:_MOST_TASKS]
    rows = one.rows.rows(longest).sorted_by("start_ns")
    stages = [on_one_line(str(s)) for s in dict.fromkeys(rows["stage"])]
    records = [
        {
            "x": short(start / second), "end": short((start + duration) / second),
            "host": f"host {host}", "slot": slot, "stage": on_one_line(str(stage)),
            "task": on_one_line(str(task)), "s": short(duration / _S),
            "waits": None if math.isnan(wait) else short(wait / _S), "failed": bool(failed),
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
                    field("x:Q", title="start"), field("s:Q", title="seconds"),
                    field("waits:Q", title="waits, s"), field("failed:N")],
    }  # fmt: skip
    bars = mark("bar", channels, records, clip=True, stroke=colour("page"), strokeWidth=0.5)
    size = {"width": panel_width(1, GUTTER), "height": lane * len(hosts)}
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
