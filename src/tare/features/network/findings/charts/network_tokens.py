"""What is left in every host's bucket over its trials, and what it sends: Figures 15 and 18."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Ladder, Networks, Rung, carried
from tare.experiment.results import Results
from tare.features.network.findings.charts.host_lines import HostLine, host_lines, host_panels
from tare.features.network.findings.charts.network_slowdown import networks
from tare.features.network.findings.dry import droughts
from tare.features.network.findings.network_stragglers import hosts_said
from tare.registry import Description
from tare.render.charts.timelines import Panel, timelines
from tare.render.drawing import Chart
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Message, Said, message

_MOST_PANELS = 6
#: Trials that are drawn one after the other, as CLOUDNET has them; more where they share a budget.
_TRIALS, _TRIALS_CARRIED = 5, 60


def _drawn(found: Networks) -> list[tuple[Ladder, Rung]]:
    """Choose levels with a log: all, or the smallest budgets where there are too many."""
    some = [(x, r) for x, r in found.rungs if r.level.bucket is not None and r.log]
    return some[-_MOST_PANELS:]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw two panels a level: tokens left and rate, over some trials one after the other."""
    found = networks(results)
    drawn = [] if found is None else _drawn(found)
    if not drawn:
        return None
    most = _TRIALS_CARRIED if carried(results) else _TRIALS
    panels = [panel for ladder, rung in drawn for panel in _in_a_row(ladder, rung, most)]
    return timelines(panels, columns=2)[0]


def _in_a_row(ladder: Ladder, rung: Rung, most: int) -> tuple[Panel, Panel]:
    """Put the first trials one after the other, without what was between them."""
    lines: list[HostLine] = []
    starts: list[tuple[float, float, Said]] = []
    now = 0.0
    for trial in rung.trials["trial"][:most].tolist():
        own = [*host_lines(rung.log.where(trial=trial))]
        if not own:
            continue
        starts.append((now, now, message("trial {trial} begins", trial=trial)))
        lines += [one._replace(start_s=now + one.start_s, end_s=now + one.end_s) for one in own]
        now += max(float(one.end_s.max(initial=0.0)) for one in own)
    return host_panels(lines, now, text(ladder.named(rung.level)), starts)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say which hosts were depleted at each level, and when."""
    found = networks(results)
    if found is None:
        return (message("no tokens were logged"),)
    said = [
        message(
            "tokens left in each host's bucket, and what each host sends, over the first trials "
            "in a row; dashed lines are where trials begin"
        )
    ]
    said += [
        hosts_said(d) if d.any else message("{level}: never depleted", level=d.name)
        for d in droughts(found)
    ]
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
