"""Makes the report of ``tare run`` of one command."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tare import units
from tare.cli import console
from tare.experiment.findings import disturbance
from tare.experiment.findings.known import (
    FEWEST_FOR_QUANTILES,
    Known,
    exceeded,
    median_cells,
    relative_spread,
)
from tare.experiment.findings.level_names import unit_of
from tare.experiment.metrics import DRIVER, OF_HOSTS, PRINTED, SUPERVISED
from tare.features.measure import outlived
from tare.features.measure.comparison import network_use
from tare.features.measure.run.exports import trial_json, trials_of
from tare.features.measure.run.next_step import next_step
from tare.features.measure.run.summary import Summary
from tare.render.words import sentences
from tare.results import phrases
from tare.results.finding import Column, Table, interval_columns
from tare.results.message import Amount, Atom, Chosen, Message, Said, message
from tare.results.report import Entry, Origin, Report
from tare.statistics.interim_analysis import first_look
from tare.statistics.intervals import extremes_interval, p10_and_p90
from tare.statistics.statistic import median
from tare.statistics.warmup import cold_start

if TYPE_CHECKING:
    from tare.statistics.statistic import FloatArray
    from tare.statistics.trust import Trust

_RESOURCE = "{name} {amount}{% if hosts %} + {hosts} on the hosts{% endif %}"
_TIMED_TEXTS = {
    "self": "between two timestamps of the program itself",
    "switch": "from start (exec) until the process's memory is released; kernel timestamps",
    "perf_cpu": "from start (exec) until the process exits; kernel timestamps",
    "perf_task": "from start (exec) until the process exits; kernel timestamps",
    "driver": (
        "mean response time of a trial's requests, each from its intended start; the load "
        "generator's clock"
    ),
    "around": "from starting the command until its end is known; tare's clock",
}
_RUN_TEXTS = {
    "range": "p10–p90 {range}",
    "ends": "all of {range}{% if level %} ({level} interval of the median){% endif %}",
}
_ENDED_TEXTS = {
    "drifts": "times drift",
    "jumps": "times jump",
}
#: What a command uses besides time, and its name in a terminal.
_RESOURCE_TEXTS = {
    "cpu_ns": "CPU",
    "memory_bytes": "memory",
}

#: Share of the CPUs from which on other programs explain that a target was not reached.
NOTABLE_NEIGHBOURS = 0.05
#: Sources of wall time whose start and end are described in the report.
TIMED = ("self", "switch", "perf_cpu", "perf_task", "around", DRIVER)


def make(
    summary: Summary, name: str, kept: Path | None, platform: str, shell: str | None = None
) -> Report:
    """Lay out what was found of one command.

    Parameters
    ----------
    summary : Summary
    name : str
        The command, as the table of a README has it.
    kept : Path or None
        Folder of the results where it stays.
    platform : str
        What the command ran on.
    shell : str or None
        Value of ``--shell``.
    """
    results, time = summary.results, summary.known(summary.time_metric, 0.5)
    weak: list[Message] = []
    if summary.caveats:
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings import caveats

        weak = caveats.sentences(summary.caveats, summary.levels_of)
    entries = [] if time is None else [*_entries(summary, time, kept)]
    goes_on = time is not None and summary.short is None
    failures = summary.failures
    return Report(
        command="run",
        figures={
            "trials": [trial_json(trial) for trial in trials_of(results)],
            "summary": _summary(summary),
            "facts": summary.facts,
            "session_changes": summary.caveats,
        },
        name=results.experiment.name,
        question=results.experiment.question,
        entries=tuple(entries),
        next_steps=(
            outlived.with_bash(results, "run", shell) or next_step(summary, kept, platform),
        )
        if goes_on
        else (),
        strip=(),
        sections=(),
        origin=Origin(seed=results.experiment.seed),
        caveats=tuple(weak),
        failed=() if failures is None else (failures,),
        cells=_table(summary, name),
    )


def _entries(summary: Summary, time: Known, kept: Path | None) -> Iterator[Entry]:
    """State the time with its interval, then what it took and how far it can be trusted."""
    from tare.experiment.findings.instrument import notable

    yield Entry("Time", _time(summary, time, summary.values(time.metric, time.source)))
    if summary.conditions:
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings import conditions

        for said in conditions.sentences(summary.conditions):
            yield Entry("With", said)
    yield from summary.load
    for known in summary.asked:
        # The median of the time stands above already.
        if (known.metric, known.quantile) != (time.metric, 0.5):
            yield Entry(_label(known, time.metric), _asked(known, time.metric))
    if (target := target_of(summary)) is not None:
        yield Entry("Target", target)
    yield _trust(summary, time)
    if error := notable(summary.facts.get, time.interval.estimate):
        yield Entry("Error", error)
    yield Entry("Uses", _resources(summary))
    if network := network_use.of_trials(summary.results):
        yield Entry("Network", network)
    yield Entry("Timed", timed(time.source), "quiet")
    for note in _notes(summary, time, kept):
        if note is not None:
            yield Entry("Note", note)


def _table(summary: Summary, name: str) -> Table | None:
    """Return the first of what was asked as a table of one row."""
    known = next(iter(summary.asked), None)
    if known is None:
        return None
    values, quantile = summary.values(known.metric, known.source), known.quantile
    return Table(
        title=message(phrases.OVERVIEW_TITLE, metric=known.metric, margin=None, fixed=[]),
        columns=(
            Column(key="workload", title="command"),
            *interval_columns(
                "median", units.quantile_name(quantile), unit_of(known.metric), "median_"
            ),
            Column(key="spread", title="p10–p90", unit="share"),
            Column(key="n", title="n"),
        ),
        rows=(
            {
                "workload": name,
                "n": len(values),
                **median_cells(known.interval),
                "spread": relative_spread(values),
            },
        ),
    )


def _summary(summary: Summary) -> dict[str, Any]:
    """Return the figures of the command, for scripts."""
    time = summary.known(summary.time_metric, 0.5)
    told: dict[str, Any] = {
        "n": len(summary.of_levels.counted),
        "killed": summary.killed,
        "levels_of": summary.levels_of,
        "failed": len(summary.trials) - len(summary.good),
        "ended": summary.ended,
        "time": None if time is None else timed(time.source),
    }
    if time is not None:
        told |= _statistics(time, summary.values(time.metric, time.source))
        told["trust"] = trust_json(summary.trust)
    told["conditions"] = summary.conditions
    told["asked"] = [known.as_json() for known in summary.asked]
    stop = summary.stop
    told["stop"] = None if stop is None else {
        "reason": stop.reason, "why": stop.why, "refusal": stop.refusal, "target": stop.target,
        "reached": summary.reached, "more_trials": summary.more_trials[0],
    }  # fmt: skip
    told["neighbours"] = summary.neighbours
    told["disturbance"] = summary.disturbance
    return told


def trust_json(found: Trust) -> dict[str, Any]:
    """Return a verdict on values as ``--json`` has it."""
    return {
        "verdict": found.verdict,
        "extent": found.extent,
        "sessions": found.sessions,
        "reasons": sentences(found.reasons),
    }


def _statistics(time: Known, ns: FloatArray) -> dict[str, Any]:
    i = time.interval
    p10, p90 = p10_and_p90(ns)
    several = len(ns) >= FEWEST_FOR_QUANTILES
    # What is infinite is above the limit, and becomes null.
    return {
        "median_s": i.estimate / 1e9,
        "median_low_s": None if i.low is None else i.low / 1e9,
        "median_high_s": None if i.high is None else i.high / 1e9,
        "above_s": None if i.above is None else i.above / 1e9,
        "confidence": i.confidence,
        "precision": i.half_width,
        "mean_s": float(ns.mean()) / 1e9,
        "sd_s": float(ns.std(ddof=1)) / 1e9 if len(ns) > 1 and not time.killed else None,
        "p10_s": p10 / 1e9 if several else None,
        "p90_s": p90 / 1e9 if several else None,
        "min_s": float(ns.min()) / 1e9,
        "max_s": float(ns.max()) / 1e9,
    }


def timed(source: str) -> Message:
    """Return what a wall time from a source is the time of."""
    if source in TIMED:
        return message(_TIMED_TEXTS[source])
    return message("{source}", source=source)


def _label(known: Known, time_metric: str) -> str:
    """Name a line: the one of the time has the median already."""
    if known.metric == time_metric:
        return units.quantile_name(known.quantile)
    name = _RESOURCE_TEXTS.get(known.metric, "asked")
    return name[0].upper() + name[1:]


def target_of(summary: Summary) -> Message | None:
    """Say whether the precision was reached of what else than the median of the time was asked."""
    stop, asked = summary.stop, summary.asked
    if summary.is_of_time or not asked or stop is None or not stop.target or stop.reason == "fixed":
        return None
    if refused(summary) or missed(summary):
        return None
    reached = summary.reached
    return message(
        "± {target} for {names | listing}: {% if not met %}not {% endif %}reached"
        "{% if reached %} (± {reached}){% else %}, no interval{% endif %}",
        target=Chosen(stop.target),
        names=[known.name for known in asked],
        met=reached is not None and reached <= stop.target,
        reached=None if reached is None else Amount(reached, "share"),
    )


def _sure(known: Known) -> Chosen | None:
    i = known.interval
    is_above = i.above is not None and i.low is not None and i.low >= i.above
    return None if i.low is None or i.high is None or is_above else Chosen(i.confidence)


def _time(summary: Summary, time: Known, values: FloatArray) -> Message:
    spread = None
    if len(values) > 1:
        several = len(values) >= FEWEST_FOR_QUANTILES
        ends = p10_and_p90(values) if several else (float(values.min()), float(values.max()))
        name, extremes = "range" if several else "ends", extremes_interval(values)
        level = None if extremes is None else Chosen(extremes.confidence)
        span = units.span("ns", *ends, time.interval.above)
        spread = message(_RUN_TEXTS[name], range=span, level=level)
    return message(
        "{figure} median{% if exceeded is defined %} ({% if sure %}{sure}; {% endif %}"
        "{exceeded}){% elif sure %} ({sure}){% else %}, no interval{% endif %}, n = {n}"
        "{% if workers %} trials of {workers} workers each{% endif %}{% if spread %}, "
        "{spread}{% endif %}{% if ended %}; budget ended: {ended}{% endif %}",
        figure=str(time),
        sure=_sure(time),
        n=time.interval.n,
        workers=summary.workers if summary.workers > 1 else None,
        spread=spread,
        ended=_ended(summary, time, values),
        **({"exceeded": exceeded(time)} if time.killed else {}),
    )


def _ended(summary: Summary, time: Known, values: FloatArray) -> Message | None:
    """Return why the budget ended before the target was reached; None: it did not."""
    stop, reached, n = summary.stop, summary.reached, len(values)
    target = stop.target if stop and stop.reason == "budget" else None
    if stop is None or not target or time.is_open or (reached is not None and reached <= target):
        return None
    used = summary.neighbours
    if n >= FEWEST_FOR_QUANTILES and used is not None and used >= NOTABLE_NEIGHBOURS:
        return message("neighbours used {share} of the CPUs", share=Amount(used, "share"))
    if stop.why in ("drifts", "jumps"):
        return message(_ENDED_TEXTS[stop.why])
    if n < first_look(summary.stopping.quantile):
        return message("only {n | counted('trial')} fitted", n=n)
    if stop.why == "remembers" or reached is None:
        return message("trials are autocorrelated")
    p10, p90 = p10_and_p90(values)
    share = None if math.isinf(p90) else Amount((p90 - p10) / median(values), "share")
    return message("trials vary{% if share %} by {share} (p10–p90){% endif %}", share=share)


def _asked(known: Known, time_metric: str) -> Message:
    return message(
        "{figure}{% if name %} {name}{% endif %}{% if sure %} ({sure}{% if early %}, in this "
        "session{% endif %}){% else %}, no interval{% endif %}{% if why %}: {why}{% endif %}",
        figure=str(known),
        name=None if known.metric == time_metric else known.name,
        sure=_sure(known),
        early=known.interval.early,
        why=known.interval.refusal,
    )


def _resources(summary: Summary) -> Message:
    parts: list[Atom] = []
    for metric, name in _RESOURCE_TEXTS.items():
        source = summary.whole(metric)
        if source is not None:
            middle = median(summary.values(metric, source))
            amount = Amount(middle, unit_of(metric))
            # The command's own is a small part of what its services on the hosts do for it.
            hosts = summary.values("hosts_cpu_ns", OF_HOSTS) if metric == "cpu_ns" else np.zeros(0)
            of_hosts = Amount(median(hosts), "ns") if len(hosts) else None
            parts.append(message(_RESOURCE, name=name, amount=amount, hosts=of_hosts))
    for metric in summary.printed:
        middle = median(summary.values(metric, PRINTED))
        stem = metric.removesuffix(f"_{unit_of(metric)}")
        amount = Amount(middle, unit_of(metric))
        parts.append(message(_RESOURCE, name=stem, amount=amount, hosts=None))
    ready = summary.values("services_ready_ns", SUPERVISED)
    if len(ready):
        parts.append(
            message(
                "services ready after {amount} (not in the time)",
                amount=Amount(median(ready), "ns"),
            )
        )
    launch = summary.facts.get("launch_overhead_ns")
    if launch is not None and not len(ready):
        parts.append(
            message("launch {amount} (not in the time)", amount=Amount(float(launch), "ns"))
        )
    ended = {"ended": len(summary.results.good)} if summary.killed and summary.results.good else {}
    return message(
        "{% if ended is defined %}{ended | counted('run')} that ended: {% endif %}"
        "{parts | join(', ')}",
        parts=parts,
        **ended,
    )


def _trust(summary: Summary, time: Known) -> Entry:
    """Return the verdict, and its extent or reason with the largest disturbance."""
    # What refuses an interval stands next to the figure.
    refusals: list[Atom] = [one.refusal for one in _refused_figures(summary) if one.refusal]
    found = summary.trust
    label: str = found.verdict
    if refusals:
        label = label if label == "DOUBT" else "Trust"
        said = message("{refusals | join('; ')}", refusals=refusals)
    elif time.is_open:
        label, said = (
            "Trust",
            message("the median's interval is open, since runs exceeded the time limit"),
        )
    elif found.extent is None:
        label, said = (
            "Trust",
            message("no interval of the median: {why}", why=time.interval.refusal),
        )
    else:
        said = found.claim if found.verdict == "TRUST" else _doubt(summary, found)
    others = [*_other_verdicts(summary, time)]
    if any(verdict == "DOUBT" for verdict, _ in others):
        label = "DOUBT"
    return Entry(
        label,
        message(
            "{% if others %}{metric | metric} {% endif %}{said}{% if others %}; "
            "{others | join('; ')}{% endif %}; {disturbed}",
            metric=time.metric,
            said=said,
            others=[one for _, one in others],
            disturbed=disturbance.said(summary.disturbance),
        ),
    )


def _other_verdicts(summary: Summary, time: Known) -> Iterator[tuple[str, Message]]:
    """Judge the medians that were asked for besides that of the time."""
    from tare.experiment.findings.doubt import why

    for known in summary.asked:
        if known.metric == time.metric or known.quantile != 0.5 or known.refusal or known.is_open:
            continue
        found = summary.judged(known)
        if found.extent is None:
            continue
        n = len(summary.of_levels.good)
        said = found.claim if found.verdict == "TRUST" else why(found.grounds[0], n)
        yield found.verdict, message("{metric | metric} {said}", metric=known.metric, said=said)


def _doubt(summary: Summary, found: Trust) -> Message:
    """Return why the median is doubtful, in short."""
    from tare.experiment.findings.doubt import precision_of, why

    reason = found.grounds[0]
    if reason.kind != "imprecise":
        n = len(summary.of_levels.good)
        return message(
            "± {extent}, but {why}", extent=Amount(found.extent, "share"), why=why(reason, n)
        )
    more, seconds = summary.more_trials
    if not summary.is_of_time or not more:
        return why(reason, len(summary.of_levels.good))
    return _more_trials(found.extent, precision_of(summary.stopping), more, seconds)


def _more_trials(reached: float | None, target: float, more: int, seconds: float | None) -> Message:
    """Say how many more trials give a precision, and how long they take, if that is known."""
    return message(
        "± {reached}: about {more | about('more trial')} for ± {target}{% if time %}, {time}"
        "{% endif %}",
        reached=Amount(reached, "share"),
        target=Chosen(target),
        more=more,
        time=None if seconds is None else console.seconds(seconds),
    )


def _notes(summary: Summary, time: Known, kept: Path | None) -> Iterator[Said | None]:
    """Yield what else limits the figures."""
    if summary.by_hand:
        asked, n = summary.stopping.trials, len(summary.good)
        yield message(phrases.RUN_BY_HAND, asked=asked, n=n, kept=kept is not None)
    yield from outlived.notes(summary.results)
    yield from summary.warnings
    yield disturbance.lost(summary.results.values(*disturbance.LOST)["value"], len(summary.trials))
    yield disturbance.switch_records(summary.results)
    # The line of the verdict has a missed precision of the time.
    is_stated = summary.trust.imprecision is not None and summary.is_of_time
    if _is_refusal_stated(summary, time):
        yield (
            None
            if summary.is_only_dependent
            else message("target not reached, for the same reason")
        )
    else:
        yield refused(summary) or (None if is_stated else missed(summary))
    cold = cold_start(summary.least_values(time.metric, time.source))
    yield summary.results.steady
    yield None if cold is None else cold.sentence
    if summary.caveats:
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings import caveats

        yield from caveats.notes(summary.caveats)


def _is_refusal_stated(summary: Summary, time: Known) -> bool:
    """Return whether the line of the verdict has what kept the target from being reached."""
    found, stop = summary.trust, summary.stop
    if stop is None or refused(summary) is None:
        return False
    if stated := [one.why for one in _refused_figures(summary)]:
        return stop.why in stated
    if not summary.is_of_time or time.is_open or found.extent is None or not found.grounds:
        return False
    return stop.why == "remembers" and found.grounds[0].kind == "autocorrelated"


def _refused_figures(summary: Summary) -> list[Known]:
    """Return the figures that have an interval although their series is not steady."""
    return [one for one in summary.asked if one.refusal and not one.interval.refusal]


def refused(summary: Summary) -> Message | None:
    """Return why no number of trials reached the target; None: the trials allow it."""
    stop = summary.stop
    if stop is None:
        return None
    if summary.is_only_dependent:
        return message("{refusal}; the interval is adjusted for it", refusal=stop.refusal)
    if stop.refusal and stop.reason not in ("target", "fixed"):
        return message("target not reached: {refusal}", refusal=stop.refusal)
    return None


def missed(summary: Summary) -> Message | None:
    """Return how many more trials the target takes; None: it was reached, or there was none."""
    stop = summary.stop
    more, seconds = summary.more_trials
    if stop is None or stop.reason == "fixed" or not (stop.target and summary.reached and more):
        return None
    if summary.reached <= stop.target:
        return None
    said = _more_trials(summary.reached, stop.target, more, seconds)
    return message("target not reached: {said}", said=said)
