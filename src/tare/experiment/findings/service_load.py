"""What load services were under, and how long requests took: always next to each other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec
import numpy as np

from tare.experiment.findings import requests_seen
from tare.experiment.findings.cells import Basis, cells_of
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.findings.judgement import differences
from tare.experiment.findings.known import interval
from tare.experiment.findings.level_names import unit_of, where
from tare.experiment.findings.overhead import compare_locations
from tare.experiment.findings.service_cells import METRICS, Driven, driven, name_of
from tare.experiment.metrics import DRIVER, tick
from tare.experiment.request_quantiles import BEYOND, QUANTILES, USUAL, requests_needed
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.vocabulary import TIMES
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Amount, Chosen, Levels, Message, Ratio, message
from tare.statistics.comparison import Comparison
from tare.statistics.spread import SpreadComparison
from tare.units import chosen

_SERVICE_LOAD_TEXTS = {
    "open": "open{% if rate %}, {rate}/s{% endif %}",
    "closed": "closed{% if users %}, {users} {'user' if one else 'users'}{% endif %}",
}
_REACHED_TEXTS = {
    "open": "{rate}{% if asked %} of {asked}{% endif %}/s",
    "closed": "{% if asked %}{asked} {'user' if one else 'users'}{% else %}closed{% endif %}",
}
_CPUS_TEXTS = {
    "own": "{% if used %}{used}{% else %}unknown{% endif %} of {own}",
    "shared": "{% if used %}{used}{% else %}unknown{% endif %} shared",
    "unknown": "{% if used %}{used}{% else %}unknown{% endif %}",
}

_DESCRIPTION = Description(
    name="service_load",
    title="Load, response times and errors of applications that serve, by cell and by label",
    question="What load was reached, and how long did requests take?",
    source="Little's law; open and closed models: Schroeder et al., NSDI 2006",
)
#: Of a rate: what is short of it by less is the rate.
_WHOLE = 0.9995
#: Labels that a table tells apart, and reasons for errors that are named.
_MOST_LABELS, _MOST_REASONS = 12, 3
#: Differences that a summary names.
_MOST_DIFFERENCES = 3


def find(results: Results) -> Finding | None:
    """Tell the load of each cell, and what it came to."""
    cells = driven(results)
    if not cells:
        return None
    requests = requests_seen.seen(results)
    return answered(
        _DESCRIPTION,
        answer=_answer(cells, results),
        verdict="none",
        summary=_summary(cells, results),
        basis=f"{METRICS['mean']} ({DRIVER})",
        estimates=tuple(_estimates(cells, results)),
        tables=(table(cells, results), *_by_label(cells, results, requests)),
        caveats=_caveats(cells, results, requests),
        charts=("response_times", "response_course"),
    )


def load(cell: Driven) -> Message:
    """Write the load that was asked of a cell."""
    amount = cell.asked.amount
    return message(
        _SERVICE_LOAD_TEXTS[cell.asked.kind],
        rate=None if amount is None else Chosen(amount, "1"),
        users=None if amount is None else Chosen(amount, "1"),
        one=amount == 1,
    )


def _load_reached(cell: Driven) -> Message:
    amount = cell.asked.amount
    return message(
        _REACHED_TEXTS[cell.asked.kind],
        rate=Amount(cell.median("rate"), "1"),
        asked=None if amount is None else Chosen(amount, "1"),
        one=amount == 1,
    )


def cpus(cell: Driven) -> Message:
    """Write how many CPUs the load generator used, and whose they were."""
    used, own = cell.median("cpus"), cell.own_cpus
    kind = "unknown" if own is None else "own" if own else "shared"
    return message(
        _CPUS_TEXTS[kind],
        used=None if used is None else f"{used:.2f}",
        own=None if own is None else round(own),
    )


#: What is later than this stands next to response times, which hold it.
LATE_NS = 1e6
#: Share of the mean response time from which on a delay of the load generator is named.
LATE = 0.1


def generator(cell: Driven) -> Message:
    """Say what the load generator of one cell took, and whether it may be seen in the times."""
    used, own = cell.median("cpus"), cell.own_cpus
    return message(
        "load generator: {% if used %}{used}{% else %}unknown{% endif %} CPUs{% if own %}, "
        "{own} of its own{% elif own == 0 %}, shared with the services: response times "
        "include its waiting{% endif %}{% if busy %}; near its limit, which response times "
        "include{% endif %}{% if late %}; 99 % of the requests started within {late} of "
        "their time{% endif %}",
        used=None if used is None else f"{used:.2f}",
        own=None if own is None else round(own),
        busy=cell.busy,
        late=_time(cell, "late") if (cell.median("late") or 0.0) > LATE_NS else None,
    )


def _summary(cells: Sequence[Driven], results: Results) -> Message:
    """Give the one cell there is, or the span of each workload and what was shown to differ.

    Never a response time without load and errors.
    """
    if len(cells) == 1:
        return _one(cells[0])
    name = _furthest(cells)
    workloads = dict.fromkeys(cell.levels["workload"] for cell in cells)
    return message(
        "{% if name == 'mean' %}mean response time{% else %}response time {name}{% endif %}, "
        "median of trials: {spans | join(', ')}{% if shown %} ({shown}){% endif %}; "
        "{load | join('; ')}; {% if errors %}errors at most {errors}{% else %}no errors"
        "{% endif %}",
        name=name,
        spans=[
            _span(name, workload if len(workloads) > 1 else None, own)
            for workload in workloads
            for own in ([cell for cell in cells if cell.levels["workload"] == workload],)
        ],
        shown=_shown(name, results),
        load=_reached(cells),
        errors=_errors(max(cell.failed for cell in cells)),
    )


def _furthest(cells: Sequence[Driven]) -> str:
    """Return the furthest quantile that all cells know, or else the mean."""
    common = [name for name in USUAL if all(name in cell.quantiles for cell in cells)]
    return common[-1] if common else "mean"


def _span(name: str, workload: str | None, cells: Sequence[Driven]) -> Message:
    times = [cell.median(name) or 0.0 for cell in cells]
    return message(
        "{% if workload %}{workload} {% endif %}{least}{% if most %} to {most}{% endif %}",
        workload=workload,
        least=Amount(min(times), "ns"),
        most=Amount(max(times), "ns") if len(cells) > 1 else None,
    )


def _shown(name: str, results: Results) -> Message | None:
    """Say which platforms differ in a response time, by the comparison that all else has."""
    found = _compared(METRICS[name], results)
    if not found:
        return None
    differing = [one for one in found if one[1].verdict.differs]
    differing.sort(key=lambda one: -abs(math.log(one[1].ratio or 1)))
    margin = chosen(results.experiment.margin)
    return message(
        "{% if differing %}{differing | join(', ')}{% if more %} and {more} more{% endif %}"
        "{% if others %}; no other difference was shown{% endif %}{% else %}no difference "
        "was shown{% endif %}",
        differing=[
            message(
                "{at} {verdict} than {reference}, {ratio}",
                at=at,
                verdict=TIMES.of(c.verdict, margin),
                reference=reference,
                ratio=Ratio(c.ratio or 1, c.low, c.high),
            )
            for at, c, reference in differing[:_MOST_DIFFERENCES]
        ],
        more=len(differing[_MOST_DIFFERENCES:]),
        others=len(found) - len(differing),
    )


def _compared(
    metric: str, results: Results
) -> list[tuple[Levels, Comparison | SpreadComparison, str]]:
    """Compare the cells of each workload: where, with what outcome, relative to what."""
    factor = results.experiment.stopping.compare
    if factor == "workload":
        return []
    if factor is None:
        basis = Basis(metric, DRIVER)
        pairs = compare_locations(cells_of(results, basis), "platform", results.experiment.margin)
        return [(where(p.compared_levels, results.varied), c, p.reference) for p, c in pairs]
    # Judged look by look, as the experiment's own metric is.
    asked = msgspec.structs.replace(results.experiment, metric=metric)
    found = differences(dataclasses.replace(results, experiment=asked))
    if isinstance(found, Message):
        return []
    return [(where(d.levels, results.varied), d.comparison, d.first) for d in found]


def reached(cell: Driven) -> Message:
    """Write the load that was asked of a cell, and what it came to."""
    return message(
        "{load}: {% if rate %}{rate} requests/s reached, {% endif %}{throughput} answered a "
        "second, {% if errors %}{errors} errors{% else %}no errors{% endif %}",
        load=load(cell),
        rate=Amount(cell.median("rate"), "1") if cell.asked.is_open else None,
        throughput=Amount(cell.median("throughput"), "1"),
        errors=_errors(cell.failed),
    )


def _one(cell: Driven) -> Message:
    return message(
        "{reached}; response time {times | join(', ')}{% if shared %} (load generator on the "
        "services' CPUs){% endif %}",
        reached=reached(cell),
        shared=cell.shared,
        times=times(cell),
    )


def times(cell: Driven) -> list[Message]:
    """Write the quantiles that a cell knows, and the longest where that is not all of them."""
    named = [*cell.quantiles, *([] if "p99" in cell.quantiles else ["longest"])]
    return [
        message("{name} {time}", name=name, time=_time(cell, name))
        for name in named
        if cell.median(name) is not None
    ]


def few(cells: Sequence[Driven]) -> Message | None:
    """Say which quantiles are not shown of some cells, and how many requests they need."""
    without = [cell for cell in cells if not set(USUAL) <= set(cell.quantiles)]
    if not without:
        return None
    least = min(without, key=lambda cell: cell.requests)
    names = [name for name in USUAL if name not in least.quantiles]
    return message(
        "{names | listing} need{% if not names[1:] %}s{% endif %} {needs | listing} requests "
        "a trial: not shown{% if some %} in {some} of {cells} cells{% endif %}, where "
        "{least} were made",
        names=names,
        needs=[requests_needed(name) for name in names],
        least=least.requests,
        some=len(without) if len(without) < len(cells) else None,
        cells=len(cells),
    )


def _errors(share: float) -> Amount | None:
    return Amount(share, "share") if share else None


def _time(cell: Driven, name: str) -> Amount:
    return Amount(cell.known(name), "ns")


def _reached(cells: Sequence[Driven]) -> list[Message]:
    """Say how much of the rates was reached, and what closed loads came to."""
    said = []
    shares = [
        (cell.median("rate") or 0.0) / cell.asked.amount
        for cell in cells
        if cell.asked.is_open and cell.asked.amount
    ]
    if shares:
        # More than was asked is a matter of how arrivals at random fell.
        least = Amount(min(shares), "share") if min(shares) < _WHOLE else None
        said.append(
            message(
                "{% if share %}at least {share} of every rate{% else %}every rate{% endif %} "
                "reached in the valid trials",
                share=least,
            )
        )
    closed = [cell.median("throughput") or 0.0 for cell in cells if not cell.asked.is_open]
    if closed:
        said.append(
            message(
                "{% if several %}{least} to {most}{% else %}{least}{% endif %} requests/s "
                "answered",
                least=Amount(min(closed), "1"), most=Amount(max(closed), "1"),
                several=max(closed) * _WHOLE > min(closed),
            )
        )  # fmt: skip
    return said


def _answer(cells: Sequence[Driven], results: Results) -> Iterator[Message]:
    yield _summary(cells, results)
    if said := backlog(cells, results):
        yield said
    if any(cell.asked.is_open for cell in cells):
        yield message(
            "open load: requests come at their rate, whatever the answers take; response "
            "times count from the intended start, so a backlog counts"
        )
    if any(not cell.asked.is_open and cell.unbusy is None for cell in cells):
        yield message(
            "closed load: each user waits for the answer before the next request, so a slow "
            "service gets fewer requests; compare requests answered a second first"
        )
    known = [cell for cell in cells if cell.queueing_ns is not None]
    if known:
        slowest = max(known, key=lambda cell: cell.median("mean") or 0.0)
        yield message(
            "at {users} {'user' if one else 'users'}, response time is mostly queueing: by "
            "Little's law at most users ÷ throughput, {time} at {throughput} requests/s; "
            "mean measured: {mean}{% if at %} ({at}){% endif %}",
            at=name_of(slowest, results) if len(cells) > 1 else None,
            users=Chosen(slowest.asked.amount or 0.0, "1"),
            one=slowest.asked.amount == 1,
            throughput=Amount(slowest.median("throughput"), "1"),
            time=Amount(slowest.queueing_ns, "ns"),
            mean=_time(slowest, "mean"),
        )
    idle = [cell for cell in cells if cell.unbusy is not None]
    if idle:
        most = max(idle, key=lambda cell: (cell.unbusy or 0.0) / (cell.asked.amount or 1.0))
        closed = [cell for cell in cells if not cell.asked.is_open]
        yield message(
            "{% if all %}not all users waited at once in every trial{% else %}at most {most} "
            "of {users} users waited at once{% endif %}{% if at %} ({at | join('; ')})"
            "{% endif %}: when users come sets the throughput as well; compare response times",
            at=[name_of(cell, results) for cell in idle] if len(idle) < len(closed) else None,
            most=Chosen(most.unbusy or 0.0, "1"),
            users=Chosen(most.asked.amount or 0.0, "1"),
            all=(most.unbusy or 0.0) >= (most.asked.amount or 0.0),
        )
    yield from _generator(cells, results)


def _generator(cells: Sequence[Driven], results: Results) -> Iterator[Message]:
    """Say which load generator it was, how many CPUs it used, and whether they were its own."""
    for workload in results.experiment.workloads:
        driver = None if workload.application is None else workload.application.driver
        if driver is not None and driver.stands_for is not None:
            yield message(
                "the load generator of {workload} is {program}: its figures are not "
                "comparable with {other}'s",
                workload=workload.name,
                program=PurePath(driver.command[0]).name,
                other=driver.stands_for,
            )
    used = [value for cell in cells if (value := cell.median("cpus")) is not None]
    shared = [cell for cell in cells if cell.shared]
    if used:
        yield message(
            "the load generator used {% if most != least %}{least} to {% endif %}{most} CPUs"
            "{% if own %}, of its own{% endif %}",
            least=f"{min(used):.2f}",
            most=f"{max(used):.2f}",
            own=all(cell.own_cpus for cell in cells),
        )
    if shared:
        some = len(shared) < len(cells)
        yield message(
            "the load generator shared CPUs with the services{% if at %} ({at | join('; ')})"
            "{% endif %}: response times include its own waiting; for CPUs of its own, give "
            "the services a smaller size (--size)",
            at=[name_of(cell, results) for cell in shared] if some else None,
        )
    busy = [cell for cell in cells if cell.busy]
    if busy:
        yield message(
            "the load generator used more than 90 % of its CPUs{% if not all %} ("
            "{at | join('; ')}){% endif %}: response times may be its own; give it more "
            "(cpus in [driver])",
            at=[name_of(cell, results) for cell in busy],
            all=busy == [*cells],
        )


def backlog(cells: Sequence[Driven], results: Results | None = None) -> Message | None:
    """Say at what rate the requests of open loads piled up; None: they did not."""
    piled = [cell for cell in cells if cell.backlog]
    if not piled:
        return None
    worst = min(piled, key=lambda c: (c.median("throughput") or 0.0) / (c.median("rate") or 1.0))
    return message(
        "requests piled up: {answered} of {rate} requests a second were answered{% if at %} ("
        "{at}){% endif %}{% if others %}, in {others | counted('more cell')} likewise"
        "{% endif %}; response times grow with the length of such a load: use a lower rate",
        answered=Amount(worst.median("throughput"), "1"),
        rate=Amount(worst.median("rate"), "1"),
        at=name_of(worst, results) if results and len(cells) > 1 else None,
        others=len(piled) - 1,
    )


def _late(cells: Sequence[Driven], results: Results) -> Message | None:
    """Say where response times hold delays of requests that started late; None: nowhere."""
    late = [
        (float(cell.values["late"].max()), cell)
        for cell in cells
        if "late" in cell.values and cell.asked.is_open
    ]
    late = [(most, c) for most, c in late if most > max(LATE_NS, LATE * (c.median("mean") or 0.0))]
    if not late:
        return None
    most, cell = max(late, key=lambda one: one[0])
    return message(
        "requests started up to {late} late, but for 1 % of a trial's{% if at %} ({at})"
        "{% endif %}{% if others %}, in {others | counted('more cell')} likewise{% endif %}: "
        "response times contain these delays of the load generator",
        late=Amount(most, "ns"),
        at=name_of(cell, results) if len(cells) > 1 else None,
        others=len(late) - 1,
    )


def _caveats(
    cells: Sequence[Driven], results: Results, requests: requests_seen.Seen
) -> Iterator[Message]:
    if said := _late(cells, results):
        yield said
    if said := few(cells):
        yield said
    if requests.errors:
        yield message(
            "failed requests: {reasons | join('; ')}",
            reasons=[
                message("{why} ({times | counted('time')})", why=why, times=times)
                for why, times in requests.errors.most_common(_MOST_REASONS)
            ],
        )
    lost = unread(results)
    if lost is not None:
        yield lost


def unread(results: Results) -> Message | None:
    """Return which requests are not those that the journal has; None: all are."""
    found = requests_seen.seen(results).lost
    if not found:
        return None
    return message(
        "the requests of {lost} of {trials | counted('trial')} are left out of labels and "
        "charts: {why}",
        lost=len(found),
        trials=sum(cell.n for cell in driven(results)),
        why=next(iter(found.values())),
    )


def _estimates(cells: Sequence[Driven], results: Results) -> Iterator[Estimate]:
    for cell in cells:
        for name, values in cell.values.items():
            if cell.known(name) is None:
                continue
            metric = METRICS[name]
            i = interval(
                values, 0.5, results.experiment.stopping, by_hand=results.by_hand,
                tick=tick(metric, DRIVER),
            )  # fmt: skip
            yield Estimate(
                name=metric, levels=dict(cell.levels), value=i.estimate, unit=unit_of(metric),
                low=i.low, high=i.high, confidence=i.confidence, method=i.method, n=i.n,
                trials=cell.trials,
            )  # fmt: skip


def _named(cells: Sequence[Driven], results: Results) -> list[str]:
    """Return the factors that tell rows apart."""
    varied = [f for f in results.varied if len({cell.levels[f] for cell in cells}) > 1]
    return varied or ["workload"]


_LOAD = Column(key="load_reached", title="load")
_ERRORS = Column(key="request_error_share", title="errors", unit="share")
_DRIVER = Column(key="driver_cpus", title="driver")


def _conditions(cell: Driven) -> dict[str, Any]:
    """Return what response times of a cell hold for: the load, and what may be wrong."""
    return {
        "load_reached": _load_reached(cell),
        "request_error_share": cell.failed,
        "driver_cpus": cpus(cell),
        "driver_shared": cell.shared,
    }


def _times(is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the response times that a table has: further quantiles where any row knows them."""
    more = [name for name in QUANTILES if name not in USUAL and is_known(name)]
    return ("mean", *USUAL, *more)


def table(cells: Sequence[Driven], results: Results) -> Table:
    """Lay out the load of each cell, and what it came to; keys are no names of factors."""
    factors = _named(cells, results)
    # Where a p99 is not known, the longest stands for it.
    longest = any("p99" not in cell.quantiles for cell in cells)
    shown = (
        *_times(lambda name: any(cell.known(name) is not None for cell in cells)),
        *(["longest"] if longest else []),
    )

    def row(cell: Driven) -> dict[str, Any]:
        return {
            **{f: cell.levels[f] for f in factors},
            **_conditions(cell),
            **{METRICS[name]: cell.known(name) for name in ("rate", "throughput", *shown)},
            "littles_law_ns": cell.queueing_ns,
            "n": cell.n,
        }

    return Table(
        id="service_load",
        title=message("Load and response times"),
        columns=(
            *level_columns(factors),
            _LOAD,
            Column(key="request_throughput", title="answered/s", unit="1"),
            _ERRORS,
            _DRIVER,
            *(Column(key=METRICS[name], title=name, unit="ns") for name in shown),
            Column(key="littles_law_ns", title="users ÷ answered/s", unit="ns"),
        ),
        rows=tuple(row(cell) for cell in cells),
        note=message(
            "Medians of the trials' values; errors are a share of all requests"
            "{% if longest %}, longest is that of all trials{% endif %}. load: requests a "
            "second that were started, of those asked, or users of a closed load. "
            "answered/s: requests without errors, until the last answer. Response times "
            "include failed requests. pN: N % of a trial's requests took no longer; absent "
            "where fewer than 10 are expected beyond. {% if little %}users ÷ answered/s: the "
            "mean response time, by Little's law, if all users wait all the time. {% endif %}"
            "driver: CPUs that the load generator used, of how many of its own; shared: it "
            "ran on the services'",
            little=any(cell.queueing_ns is not None for cell in cells),
            longest=longest,
        ),
    )


def _by_label(
    cells: Sequence[Driven], results: Results, requests: requests_seen.Seen
) -> Iterator[Table]:
    """Lay out the labels of each cell, where there is more than one."""
    labels = requests_seen.names(requests.labels)
    if len(labels) < 2:
        return
    most = max(float(np.median(label.requests)) for label in requests.totals.values())
    shown = _times(lambda name: most >= requests_needed(name))
    # The workload of one cell is no news.
    factors = [f for f in _named(cells, results) if f != "workload" or f in results.varied]
    yield Table(
        id="service_labels",
        title=message("Response times by label"),
        columns=(
            *level_columns(factors),
            Column(key="request_label", title="label"),
            Column(key="request_share", title="share", unit="share"),
            _LOAD,
            _ERRORS,
            _DRIVER,
            *(Column(key=METRICS[name], title=name, unit="ns") for name in shown),
            *_SUMMARY,
            Column(key="requests", title="requests a trial", unit="1"),
        ),
        rows=tuple(
            {
                **{f: cell.levels[f] for f in factors},
                **_conditions(cell),
                "request_label": name,
                **_label_values(label, sum(requests.totals[cell.cell].requests)),
            }
            for cell in cells
            if cell.cell in requests.totals
            for own in (requests.labels[cell.cell],)
            for name, label in (
                *((name or "–", own[name]) for name in labels[:_MOST_LABELS] if name in own),
                (_TOTAL, requests.totals[cell.cell]),
            )
        ),
        note=message(
            "Medians of the trials' values; load is that of all labels; share: of all "
            "requests. min and max are those of all trials; SD is that of the requests of a "
            "trial, around their mean. requests/s counts failed requests, from the first "
            "start of a label to its last end. received: with the answers, headers as well; "
            "absent where the load generator does not count it. A quantile is shown where at "
            "least {beyond} requests of the label are expected beyond it in a trial"
            "{% if more %}. Only the {shown} most frequent labels are shown{% endif %}",
            more=len(labels) > _MOST_LABELS or requests.more_labels,
            shown=_MOST_LABELS,
            beyond=BEYOND,
        ),
    )


#: Columns of JMeter's summary report, per label, other than the mean and the share of errors.
_SUMMARY = (
    Column(key="response_min_ns", title="min", unit="ns"),
    Column(key=METRICS["longest"], title="max", unit="ns"),
    Column(key="response_sd_ns", title="SD", unit="ns"),
    Column(key="requests_per_s", title="requests/s", unit="1"),
    Column(key="received_per_s", title="received", unit="B/s"),
    Column(key="received_bytes", title="per request", unit="bytes"),
)
#: All labels together, as JMeter calls them.
_TOTAL = "TOTAL"


def _label_values(label: requests_seen.Label, total: int) -> dict[str, float | None]:
    count = sum(label.requests)
    requests = float(np.median(label.requests))
    quantiles = np.median(np.vstack(label.quantiles_ns), axis=0).tolist()
    by_name = dict(zip(QUANTILES, quantiles, strict=True))
    spans, received = np.array(label.span_s), np.array(label.bytes)
    timed, counted = bool((spans > 0).all()), bool(np.isfinite(received).all())
    return {
        "request_share": count / total,
        "request_error_share": sum(label.failed) / count,
        METRICS["mean"]: float(np.median(label.mean_ns)),
        **{
            METRICS[name]: value if requests >= requests_needed(name) else None
            for name, value in by_name.items()
        },
        "response_min_ns": min(label.least_ns),
        METRICS["longest"]: max(label.most_ns),
        "response_sd_ns": float(np.median(label.sd_ns)),
        "requests_per_s": float(np.median(label.requests / spans)) if timed else None,
        "received_per_s": float(np.median(received / spans)) if timed and counted else None,
        "received_bytes": float(received.sum()) / count if counted else None,
        "requests": requests,
    }


UNIT = FindingUnit(description=_DESCRIPTION, order=1, find=find, of_rates=True)
