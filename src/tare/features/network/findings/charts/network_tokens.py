"""What is left in every host's bucket over its trials, and what it sends: Figures 15 and 18."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Ladder, Networks, Rung, carried
from tare.experiment.results import Results
from tare.features.network.findings.charts.network_slowdown import networks
from tare.features.network.findings.dry import droughts
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
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

_GUTTER, _HEIGHT = 120, 120
_MOST_PANELS = 6
#: Trials that are drawn one after the other, as CLOUDNET has them; more where they share a budget.
_TRIALS, _TRIALS_CARRIED = 5, 60
_DASHES = ([1, 0], [5, 3], [2, 2], [8, 3], [1, 3])
_GBIT, _BYTE = 1e9, 8
_S = 1e9


def _drawn(found: Networks) -> list[tuple[Ladder, Rung]]:
    """Choose levels with a log: all, or the smallest budgets where there are too many."""
    some = [(x, r) for x, r in found.rungs if r.level.bucket is not None and r.log]
    return some[-_MOST_PANELS:]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw two panels a level: tokens left and rate, over some trials one after the other."""
    found = networks(results)
    drawn = [] if found is None else _drawn(found)
    if found is None or not drawn:
        return None
    hosts = sorted({h for _, r in drawn for h in r.log.distinct("host")})
    most = MOST_MARKS // (2 * len(drawn) * len(hosts))
    rows = []
    for ladder, rung in drawn:
        log, starts = _in_a_row(rung, _TRIALS_CARRIED if carried(results) else _TRIALS)
        thin = _thinned(log, most)
        panels = [
            _panel(thin, starts, hosts, "tokens", "tokens left (Gbit)", _title(ladder, rung)),
            _panel(thin, starts, hosts, "rate", "sent (Gbit/s)", ""),
        ]
        rows.append({"hconcat": panels, "spacing": 14})
    return styled({"vconcat": rows, "spacing": 10}, columns=2, gutter=_GUTTER)


def _title(ladder: Ladder, rung: Rung) -> str:
    return f"{rung.level.name}, {ladder.where}" if ladder.where else rung.level.name


def _in_a_row(rung: Rung, most: int) -> tuple[Columns, list[float]]:
    """Put the first trials one after the other, without what was between them."""
    parts, starts, now = [], [], 0.0
    for trial in rung.trials["trial"][:most].tolist():
        rows = rung.log.where(trial=trial)
        if not rows:
            continue
        at = rows["at_ns"] / _S
        parts.append(
            Columns(
                {
                    "trial": rows["trial"],
                    "host": rows["host"],
                    "at": now + at,
                    "tokens": rows["tokens_bits"] / _GBIT,
                    "sent": rows["sent_bytes"] * _BYTE / _GBIT,
                }
            )
        )
        starts.append(now)
        now += float(at.max()) if len(at) else 0.0
    return Columns.concatenated(parts), starts


def _thinned(log: Columns, most: int) -> Columns:
    """Keep evenly spread moments of each host, and compute the rate between them."""
    parts = []
    for _, rows in log.groups("host"):
        step = -(-len(rows) // max(1, most))
        differs = np.concatenate([[True], rows["trial"][1:] != rows["trial"][:-1], [True]])
        ends = differs[1:] | differs[:-1]
        kept = rows.rows((np.arange(len(rows)) % step == 0) | ends)
        passed, sent = np.diff(kept["at"]), np.diff(kept["sent"])
        rate = np.full(len(kept), np.nan)
        # Between trials nothing is sent.
        inside = (passed > 0) & (kept["trial"][1:] == kept["trial"][:-1])
        rate[1:][inside] = np.maximum(sent[inside] / passed[inside], 0)
        parts.append(kept.with_columns(rate=rate))
    return Columns.concatenated(parts)


def _panel(
    log: Columns, starts: list[float], hosts: list[int], key: str, title: str, name: str
) -> Chart:
    columns = (log[name].tolist() for name in ("at", "host", "trial", key))
    records = [
        {"at": float(f"{at:.5g}"), "host": f"host {host}", "trial": trial, key: float(f"{y:.4g}")}
        for at, host, trial, y in zip(*columns, strict=True)
        if not math.isnan(y)
    ]
    names = [f"host {h}" for h in hosts]
    x = field(
        "at:Q",
        title="seconds of trials, in a row",
        axis={"tickCount": 6, "grid": False},
        scale={"nice": False, "domain": [0, float(log["at"].max()) or 1.0]},
    )
    line = {
        "y": field(f"{key}:Q", title=title, scale={"zero": True, "nice": True}),
        "color": category("host", names, SERIES, legend={"title": None}),
        "strokeDash": category("host", names, _DASHES, legend={"title": None}),
        "detail": field("trial:N"),
        "tooltip": [
            field("host:N"), field("trial:N"), field("at:Q", title="s"), field(f"{key}:Q")
        ],
    }  # fmt: skip
    shape = "linear" if key == "tokens" else "step-before"
    return layer(
        mark("rule", {}, [{"at": s} for s in starts], strokeWidth=1, color=colour("line")),
        mark("line", line, records, strokeWidth=1.6, interpolate=shape),
        channels={"x": x},
        width=panel_width(2, _GUTTER),
        height=_HEIGHT,
        title=name,
    )


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say which hosts were depleted at each level, and when."""
    found = networks(results)
    if found is None:
        return (message("no tokens were logged"),)
    said = [
        message(
            "tokens left in each host's bucket, and what each host sends, over the first trials "
            "in a row; thin lines are where trials begin"
        )
    ]
    for d in droughts(found):
        hosts = [
            message(
                "host {host} is depleted after {first}, for {time}, in {times} of "
                "{trials | counted('trial')}",
                host=h.host,
                first=Amount(h.first_ns, "ns"),
                time=Amount(h.dry_ns, "ns"),
                times=h.times,
                trials=d.rung.n,
            )
            for h in d.hosts
            if h.times
        ]
        said.append(
            message(
                "{level}: {% if hosts %}{hosts | listing}{% else %}never depleted{% endif %}",
                level=d.name,
                hosts=hosts,
            )
        )
    return tuple(said)


UNIT = ChartUnit(
    description=Description(
        name="network_tokens",
        title="Tokens left in the buckets over the trials, and what is sent",
        question="Which host slows the others?",
        source="CLOUDNET, Figures 15 and 18",
    ),
    draw=draw,
    alternative=alternative,
)
