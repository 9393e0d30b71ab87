"""Does the experiment change its own network? More trials, or rests: CLOUDNET's Figure 19."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.findings.finding import FindingUnit, uncompared
from tare.findings.network_cells import applies, networks_of
from tare.findings.network_course import Course, State, courses
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Answer, Column, Estimate, Finding, Table
from tare.results.message import Message
from tare.statistics.depletion import BOUND, FEWEST
from tare.units import chosen, counted, duration, p_value, percent, quantity, significant

_DESCRIPTION = Description(
    name="network_repetitions",
    title="Trials in order of time beside the tokens that each began with",
    question="Does the experiment change its own network?",
    source="CLOUDNET, Figure 19",
)


def find(results: Results) -> Finding | None:
    """Tell whether more trials would help, or each leaves the next a worse network."""
    if not applies(results):
        return None
    networks = networks_of(results)
    if isinstance(networks, Message):
        return uncompared(_DESCRIPTION, networks)
    found = courses(networks)
    if not found:
        return uncompared(
            _DESCRIPTION, "No level has a bucket, so that no trial takes from another."
        )
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=" ".join(answer(found)),
        verdict=_verdict(found),
        basis=str(networks.basis),
        estimates=tuple(e for c in found for e in _estimates(c)),
        tables=(_table(found),),
        caveats=tuple(_caveats(found)),
        charts=("network_running",),
    )


def answer(found: Sequence[Course]) -> Iterator[str]:
    """Tell level by level what more trials would do; levels of which the same is true at once."""
    slowing = [c for c in found if c.state in ("drained", "changing")]
    for c in slowing:
        yield _slowing(c)
    drained = [c for c in slowing if c.state == "drained"]
    if drained:
        yield remedy(drained)
    reset = [c for c in found if c.state == "reset"]
    if reset:
        yield (
            f"Every trial at {listing(c.name for c in reset)} began with the budget of its level "
            '(budget = "reset"): none takes from another, and more of them narrow the intervals. '
            'How trials in a row would fare is shown by budget = "carry".'
        )
    for c in (c for c in found if c.state == "steady" and c.rung.level.bucket is not None):
        yield _steady(c)
    open_ = [c for c in found if c.state == "inconclusive" and c.rung.level.bucket is not None]
    if open_:
        yield _open(open_)


def _slowing(c: Course) -> str:
    d = c.depletion
    assert d is not None
    beside = f", beside {c.beside} trials of the same blocks" if c.beside else ""
    if c.state == "changing":
        return (
            f"Trials at {c.name} take longer in the course of time ({c.ratio} from the first third "
            f"to the last, {p_value(c.p)}), although no budget of theirs runs out: the machine "
            "changed meanwhile."
        )
    assert c.tokens is not None
    size = max(1, len(c.tokens) // 3)
    first, last = (
        quantity(float(np.median(x)), "bits") for x in (c.tokens[:size], c.tokens[-size:])
    )
    told = [
        f"At {c.name} the experiment drains its own network: trials began with {first} at first "
        f"and {last} at last, and those that began with least take {c.ratio} beside those with "
        f"most{beside} ({p_value(c.p)})."
    ]
    return " ".join([*told, *_misled(c)])


def _misled(c: Course) -> Iterator[str]:
    """Tell how far the first trials misled, as CLOUDNET's Figure 19 does."""
    e = c.early
    if e is None:
        return
    said = []
    if e.missed:
        said.append(f"outside the interval of the first {e.n}")
    if abs(e.off) > BOUND:
        said.append(f"{percent(abs(e.off))} from their median")
    if said:
        yield f"The median of all {e.of} is {listing(said)}."
    if e.narrowing > 1:
        times = significant(e.narrowing, 2)
        yield f"The interval has become {times} times as wide, instead of narrower."


def remedy(drained: Sequence[Course]) -> str:
    """Say what would make the trials alike: the longest rest, of those that are known."""
    known = [(c.rest_s, c) for c in drained if c.rest_s is not None]
    if not known:
        return 'More trials do not help: let each begin alike ([network] budget = "reset").'
    rest, c = max(known, key=lambda x: x[0])
    bucket = c.rung.level.bucket
    assert bucket is not None
    return (
        f"More trials do not help: rest {duration(rest)} before each, in which what a trial takes "
        f'comes back at {chosen(bucket.refill_bps, "bits/s")} ([network] rest = "refill"), or '
        "let each "
        'begin alike (budget = "reset").'
    )


def _steady(c: Course) -> str:
    e = c.early
    narrower = ""
    if e is not None and e.narrowing < 1:
        narrower = f"; the interval of all {e.of} is {percent(1 - e.narrowing)} narrower than that "
        narrower += f"of the first {e.n}"
    text = f"At {c.name} more trials help: those that began with least differ by {c.ratio}"
    if c.depletion is None:
        text = f"At {c.name} more trials help: each began with the same"
    until = ""
    if c.lasting is not None:
        until = (
            f" But its bucket falls, and will be empty after some {counted(c.lasting, 'trial')}."
        )
    return f"{text}{narrower}.{until}"


def _open(some: Sequence[Course]) -> str:
    """Say what is missing for those of which nothing is decided."""
    n = min(c.rung.n for c in some)
    names = listing(c.name for c in some)
    if n < FEWEST:
        return (
            f"Inconclusive at {names}: {counted(n, 'trial')} are too few to tell whether each "
            f"leaves the next less; {FEWEST} are needed at least, 12 better."
        )
    known = [f"{c.name} {c.ratio}" for c in some if c.ratio]
    seen = f" (so far, {listing(known)})" if known else ""
    return (
        f"Inconclusive whether trials at {names} take longer the fewer tokens they begin with"
        f"{seen}: only an interval within {percent(BOUND)}, or beyond chance, decides; more trials "
        "would."
    )


def _verdict(found: Sequence[Course]) -> Answer:
    states = {c.state for c in found if c.rung.level.bucket is not None}
    if "drained" in states:
        return "yes"
    open_ = not states or bool(states & {"inconclusive", "changing"})
    return "inconclusive" if open_ else "no"


def _caveats(found: Sequence[Course]) -> Iterator[str]:
    buckets = [c for c in found if c.rung.level.bucket is not None]
    if any(c.depletion is not None and c.beside is None for c in buckets):
        yield (
            "Without unshaped trials in the same blocks, what happened to the machine in the "
            "course of time cannot be told from what happened to its network."
        )


def _estimates(c: Course) -> Iterator[Estimate]:
    d = c.depletion
    if d is not None:
        yield Estimate(
            name="value with fewest tokens over value with most",
            levels=dict(c.rung.cell.levels),
            value=d.ratio,
            unit="1",
            low=d.low,
            high=d.high,
            confidence=0.95,
            method="Hodges–Lehmann shift of log values, rank-sum interval",
            n=c.rung.n,
            trials=tuple(int(t) for t in c.rung.trials["trial"]),
        )


def _table(found: Sequence[Course]) -> Table:
    words: dict[State, str] = {
        "drained": "drains itself",
        "changing": "changes",
        "steady": "more trials help",
        "reset": "begins alike each time",
        "inconclusive": "inconclusive",
    }
    rows = [
        {
            "level": c.name,
            "n": c.rung.n,
            "first": None if c.tokens is None else float(c.tokens[0]),
            "last": None if c.tokens is None else float(c.tokens[-1]),
            "ratio": None if c.depletion is None else c.depletion.ratio,
            "low": None if c.depletion is None else c.depletion.low,
            "high": None if c.depletion is None else c.depletion.high,
            "p": None if c.depletion is None else c.p,
            "narrowing": None if c.early is None else c.early.narrowing,
            "off": None if c.early is None else c.early.off,
            "rest": None if c.rest_s is None else c.rest_s * 1e9,
            "state": words[c.state],
        }
        for c in found
    ]
    return Table(
        title="Trials in order of time",
        columns=(
            Column(key="level", title="network"),
            Column(key="n", title="trials"),
            Column(key="first", title="tokens when the first began", unit="bits"),
            Column(key="last", title="when the last began", unit="bits"),
            Column(key="ratio", title="value with fewest tokens over that with most", unit="1"),
            Column(key="low", title="from", unit="1"),
            Column(key="high", title="to", unit="1"),
            Column(key="p", title="p after Holm", unit="1"),
            Column(key="narrowing", title="width of interval, all over first quarter", unit="1"),
            Column(key="off", title="median of all beside first quarter's", unit="1"),
            Column(key="rest", title="rest that refills", unit="ns"),
            Column(key="state", title="verdict"),
        ),
        rows=tuple(rows),
        note="Tokens are those of the emptiest bucket. With fewest and most: thirds of the trials, "
        "halves below 12. Tested by ranks; “drains itself” in at most 5 % of experiments in "
        "which tokens make no difference.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=9, find=find)
