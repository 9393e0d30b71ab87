"""Which platform to take, at which size, pinned or not: advice with what it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tare.findings import emulation
from tare.findings.cells import Basis, cells_of
from tare.findings.finding import FindingUnit, settled, uncompared
from tare.findings.overhead import compare_locations
from tare.findings.platform_cells import FREE, SIZES, Beside, cost_basis, reference_of, size_name
from tare.findings.platform_factor import compared_changes
from tare.findings.platform_practices import SMALL, Evidence, evidence, practice_table, practices
from tare.findings.platform_size import factor_words, refusal_words, where
from tare.findings.platform_why import extras, sentence
from tare.findings.telling import Compared, further, share_of
from tare.frames import Results
from tare.metrics import RATES
from tare.registry import Description
from tare.render.vocabulary import metric_name
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE, LOWER
from tare.statistics.comparison import compare_family
from tare.units import change_interval, chosen, percent

_DESCRIPTION = Description(
    name="platform_advice",
    title="Platform, size and pinning to take, and PINNING's best practices beside them",
    question="Which platform, at which size, pinned or not?",
    source="PINNING",
)
#: Lines of advice that are given.
MOST_LINES = 6


@dataclass(frozen=True)
class Line:
    """One piece of advice: what it is about, what to do, and why."""

    about: str
    advice: str
    evidence: str
    #: Whether it says that something is inconclusive.
    open: bool = False

    def __str__(self) -> str:
        return f"{self.advice}: {self.evidence}."


def find(results: Results) -> Finding | None:
    """Advise on what was varied: platforms over sizes or pinning, or three of them and more."""
    varied = set(results.varied)
    platforms = results.trial_table["platform"].nunique()
    if platforms < 2 or not (varied & {*SIZES, "pinning"} or platforms > 2):
        return None
    if results.experiment.stopping.compare is not None:
        return None  # one comparison was asked for, and is judged look by look
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    known = evidence(results, basis)
    lines = advise(results, basis, known)
    apart = emulation.note(results)
    if not lines:
        return uncompared(_DESCRIPTION, apart or "No platform has cells that the reference has.")
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join(str(line) for line in lines),
        advice=tuple(str(line) for line in lines),
        verdict=settled(not line.open for line in lines),
        basis=str(basis),
        tables=(_table(lines, basis), practice_table(known, practices(known))),
        caveats=tuple(filter(None, [apart, _ONE_HOST])),
    )


_ONE_HOST = (
    "All of it is of this one host: what a CHR costs on a larger one is told only by measuring "
    "there, and putting both beside each other."
)


def advise(results: Results, basis: Basis, known: Evidence) -> list[Line]:
    """Return at most six pieces of advice, the most important first."""
    compared = compare_locations(cells_of(results, basis), "platform", results.experiment.margin)
    lines = [
        *_platform(compared, results),
        *(_sizes(known) if set(results.varied) & {*SIZES} else ()),
        *_pinning(known),
        *_factors(results, basis),
        *_why(results),
        *_open(compared, results.experiment.margin),
    ]
    return lines[:MOST_LINES]


def _platform(compared: Compared, results: Results) -> Iterable[Line]:
    """Name the platform whose largest possible cost is least."""
    most: dict[str, float] = {}
    for pair, c in compared:
        if c.high is not None:
            most[pair.level] = max(most.get(pair.level, 0.0), c.high)
    if not most:
        return
    best = min(most, key=lambda name: most[name])
    if not any(c.verdict.conclusive for _, c in compared):
        told = listing(f"{name} {percent(x - 1, sign=True)}" for name, x in most.items())
        text = f"the upper limits of their costs are {told}"
        yield Line("platform", "Which platform to take is inconclusive", text, open=True)
        return
    equal = _no_worse(best, results)
    if most[best] < 1 + SMALL:
        # That it is shown nowhere to cost more does not make another one cheap.
        equal = [name for name in equal if most[name] < 1 + SMALL]
    here = [(p, c) for p, c in compared if p.level == best]
    pair, c = max(here, key=lambda pc: pc[1].high or 0)
    ratio = change_interval(c.ratio or 1, c.low, c.high)
    at = f"at {_at(pair.levels)}" if len(here) > 1 else "here"
    text = f"beside {pair.reference} {best} costs {ratio} {at}, where it may cost most"
    others = [name for name in most if name != best and name not in equal]
    if others:
        told = listing(f"{name} up to {percent(most[name] - 1, sign=True)}" for name in others)
        text += f"; {told}"
    if equal:
        text += f"; that it costs less than {listing(equal, 'or')} is not shown anywhere"
    yield Line("platform", _verb([best, *equal], here, among=bool(others or equal)), text)


def _verb(names: list[str], here: Compared, *, among: bool) -> str:
    """Recommend what is surely cheap; of what is not, say no more than which costs least."""
    dear = max(c.low or 0 for _, c in here) > 1 + SMALL
    where = " everywhere" if len(here) > 1 else ""
    if max(c.high or 0 for _, c in here) < 1 + SMALL:
        return f"Take {listing(names, 'or')}" if among else f"{names[0]} is cheap{where}"
    doubt = f"not cheap{where}" if dear else f"not surely cheap{where}"
    if not among:
        return f"{names[0]} is {doubt}"
    return f"The least dear {'is' if len(names) == 1 else 'are'} {listing(names)}, {doubt}"


def _no_worse(best: str, results: Results) -> list[str]:
    """Name platforms that are nowhere shown to be slower than the best one."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return []
    pairs = cells_of(results, basis).ratios("platform", best)
    pairs = [p for p in pairs if p.reference == best and p.level != reference_of(results)]
    found = compare_family(
        [p.trial_values for p in pairs], results.experiment.margin, tick=basis.tick
    )
    worse = "lower" if basis.metric in RATES else "higher"
    shown = {p.level for p, c in zip(pairs, found, strict=True) if c.verdict.direction == worse}
    return [name for name in dict.fromkeys(p.level for p in pairs) if name not in shown]


def _at(levels: object) -> str:
    known = {str(k): str(v) for k, v in dict(levels).items()}  # type: ignore[call-overload]
    size = next((known[f] for f in ("quota", "size") if known.get(f) not in (None, "all")), None)
    pinned = known.get("pinning", FREE)
    words = [size or "full size", *(["pinned"] if pinned == "pinned" else [])]
    return " ".join(words)


def _sizes(known: Evidence) -> Iterable[Line]:
    """Say from which size on a platform whose cost falls is cheap; one line for the rest."""
    told, level, apart, unclear = [], [], [], []
    for one in _one_each(known.besides):
        if one.found.verdict == HIGHER:
            told.append(_from_size(one, known))
        elif one.found.verdict == EQUIVALENT:
            level.append(one)
        elif one.found.refusal is not None:
            apart.append(one)
        elif not one.found.verdict.conclusive:
            unclear.append(f"{where(one, known.results)} {factor_words(one.found.pso)}")
    yield from told[:2]
    if level:
        names = listing(dict.fromkeys(where(one, known.results) for one in level))
        most = chosen(2 * known.results.experiment.margin)
        yield Line("size", f"Any size does for {names}", f"its cost changes by less than {most}")
    elif unclear and not told:
        text = f"at the smallest beside the largest, {listing(unclear)}"
        yield Line("size", "Whether size matters is inconclusive", text, open=True)
    elif apart and not told and set(known.results.varied) & set(SIZES):
        text = refusal_words(apart[0], known.results)
        yield Line("size", "Which size is inconclusive", text, open=True)


def _one_each(besides: Iterable[Beside]) -> list[Beside]:
    """Keep one of each platform: beside the reference under the same limits where that tells."""
    best: dict[object, Beside] = {}
    for one in besides:
        if one.platform == one.reference:
            continue
        key = one.platform, one.pinning, tuple(one.levels.items())
        known = best.get(key)
        if known is None or (known.found.refusal is not None and one.found.refusal is None):
            best[key] = one
    return list(best.values())


def _from_size(one: Beside, known: Evidence) -> Line:
    name, sizes = where(one, known.results), one.found.sizes
    cheap = None
    for size in reversed(sizes):
        if size.ratio.high is None or size.ratio.high >= 1 + SMALL:
            break
        cheap = size
    small = sizes[0]
    below = f"{size_name(small.cores)} (CHR {small.chr:.2g}) cost {factor_words(small.ratio)}"
    if cheap is None or cheap is small:
        large = sizes[-1]
        return Line(
            "size",
            f"Give {name} as many cores as there are",
            f"{below}, and {size_name(large.cores)} still {factor_words(large.ratio)}",
        )
    return Line(
        "size",
        f"Give {name} at least {size_name(cheap.cores)}, CHR {cheap.chr:.2g} or more",
        f"there it costs {factor_words(cheap.ratio)}, while {below}",
    )


def _pinning(known: Evidence) -> Iterable[Line]:
    """Say which platforms to pin, and which not to bother with."""
    names, pin, idle, hurt, undecided = [], [], [], [], []
    for name in dict.fromkeys(p.levels["platform"] for p, _ in known.pinned):
        some = [(p, c) for p, c in known.pinned if p.levels["platform"] == name]
        verdicts = {c.verdict for _, c in some}
        if LOWER in verdicts:
            pair, c = min(some, key=lambda pc: pc[1].ratio)
            ratio = change_interval(c.ratio, c.low, c.high)
            names.append(name)
            pin.append(f"{name} {ratio} at {_at({**pair.levels, 'pinning': FREE})}")
        elif HIGHER in verdicts:
            _, c = max(some, key=lambda pc: pc[1].ratio)
            hurt.append(f"{name} {change_interval(c.ratio, c.low, c.high)}")
        elif INCONCLUSIVE in verdicts:
            undecided.append(name)
        else:
            idle.append(name)
    told = []
    if pin:
        told.append(f"beside vanilla, {listing(pin)}")
    if hurt:
        told.append(f"pinned is slower for {listing(hurt)}")
    if idle:
        told.append(f"worth nothing for {listing(idle)}")
    if undecided:
        told.append(f"{'inconclusive ' if told else ''}for {listing(undecided)}")
    if told:
        advice = f"Pin {listing(names)}" if pin else "Pinning is not worth it"
        if not pin and undecided:
            advice = "Whether to pin is inconclusive"
        yield Line("pinning", advice, "; ".join(told), open=bool(undecided))


def _factors(results: Results, basis: Basis) -> Iterable[Line]:
    """Warn of the factor that a cost surely depends on, sizes and pinning apart."""
    shown = [
        (change, c)
        for change, c in compared_changes(results, basis)
        if change.factor not in ("pinning", *SIZES) and c.verdict in (HIGHER, LOWER)
    ]
    if shown:
        change, c = max(shown, key=lambda x: abs(x[1].ratio - 1))
        ratio = change_interval(c.ratio, c.low, c.high)
        yield Line(
            change.factor,
            f"Mind the {change.factor} on {change.platform}",
            f"{change.factor} {change.level} beside {change.reference} changes its cost by {ratio}",
        )


def _why(results: Results) -> Iterable[Line]:
    """Say what accounts for the largest extra time."""
    some = [one for one in extras(results) if one.time.sure and one.named]
    if some:
        one = max(some, key=lambda x: x.time.value / float(x.pair.first.mean()))
        text = sentence(one, results).rstrip(".")
        yield Line("why", "Where the time goes", f"{text[0].lower()}{text[1:]}")


def _open(compared: Compared, margin: float) -> Iterable[Line]:
    """Say where it is open whether a cost is one at all, and what would decide that."""
    waiting = [(p, c) for p, c in compared if not c.verdict.conclusive]
    if waiting:
        names = listing(dict.fromkeys(p.level for p, _ in waiting))
        told = f"{share_of(len(waiting), len(compared))}, on {names}{further(waiting)}"
        advice = (
            f"Whether a cost is shown, or the same time within {chosen(margin)}, is inconclusive"
        )
        yield Line("open", advice, told, open=True)


def _table(lines: list[Line], basis: Basis) -> Table:
    titles = {"about": "about", "advice": "advice", "evidence": "what it rests on"}
    return Table(
        title=f"Advice, by {metric_name(basis.metric)}",
        columns=tuple(Column(key=key, title=title) for key, title in titles.items()),
        rows=tuple({key: getattr(line, key) for key in titles} for line in lines),
        note=f"Cheap: surely below {chosen(SMALL)}. CHR: assigned cores over the host's.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=5, find=find, over_sessions=True)
