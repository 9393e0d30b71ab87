"""What platforms cost, as messages: the same for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tare.features.audit.overhead import Cost, Line, OverheadAudit, Place
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.results.verdict import EQUIVALENT, HIGHER, LOWER
from tare.units import change

#: Factor at the smallest size from which a cost that falls with size is called a collapse.
_COLLAPSE = 2.0
#: Share of the cost (of its logarithm) that is left when pinning removes it, or most of it.
_REMOVED, _MOSTLY = 0.1, 0.5
#: Ratio below which a layer is too quick to be believed.
_TOO_FAST = 0.9
#: Platforms that collapse, and others, that are named one by one.
_MOST_COLLAPSES = 3
_MOST_LISTED = 8


def line_name(line: Line | Place) -> str:
    """Name a platform as it was set up: "vanilla CN"."""
    where = getattr(line, "where", "")
    plain = " ".join(filter(None, (line.pinning, line.platform)))
    return f"{plain} ({where})" if where else plain


def size_name(place: Place) -> str:
    """Name a size: "2 cores", "large (2 cores)"; empty where there is none."""
    if place.size is None:
        return ""
    if place.cores is None:
        return place.size
    cores = f"{place.cores:g} {'core' if place.cores == 1 else 'cores'}"
    try:
        float(place.size)
    except ValueError:
        return f"{place.size} ({cores})"
    return cores


def ratio(c: Cost) -> Ratio | Message:
    """Give a ratio with its interval, or say why there is none."""
    if c.location is None:
        return uncompared(c)
    return Ratio(c.location.ratio, c.location.low, c.location.high)


def uncompared(c: Cost) -> Message:
    """Say why there is no ratio."""
    return message("audit.overhead.uncompared", why=c.refusal)


def falls(line: Line) -> bool:
    """Whether the cost is surely larger at the smallest size than at the largest."""
    if line.model is not None and line.model.pso is not None:
        return line.model.verdict == HIGHER
    known = [c.location for c in line.costs if c.location and c.location.low is not None]
    if len(known) < 2:
        return False
    first, last = known[0], known[-1]
    return first.low is not None and last.high is not None and first.low > last.high


def collapses(line: Line) -> bool:
    """Whether the smallest size costs at least twice the reference, and larger ones less."""
    first = line.costs[0].location
    return bool(first and first.low and first.low >= _COLLAPSE and falls(line))


def brief(found: OverheadAudit) -> list[tuple[str, Message]]:
    """Say what matters most, each message with the word that it is headed by.

    Platforms that collapse where they are small; where none does, what each costs.
    """
    small = _small(found)[:_MOST_COLLAPSES]
    said = [("Overhead", _collapse(x)) for x in small]
    said += [("Pinning", effect) for x in small if (effect := _pinning(found, x))]
    said += [("Size", model) for x in small if (model := _model(found, x))]
    return said or [("Overhead", _others(found, found.lines))]


def messages(found: OverheadAudit) -> tuple[Message, ...]:
    """Say what every platform costs, and what pinning does to it."""
    small = _small(found)[:_MOST_COLLAPSES]
    said = [one for _, one in brief(found)]
    others = [x for x in found.lines if x not in small]
    if small and others:
        said.append(_others(found, others))
    rest = [x for x in found.pinned if not any(s.platform == x.platform for s in small)]
    if rest:
        said.append(message("audit.overhead.pinned", free=found.design.free, spans=_spans(rest)))
    return tuple(said)


def _small(found: OverheadAudit) -> list[Line]:
    """Platforms that collapse where they are small, the worst first."""
    return sorted((x for x in found.lines if collapses(x)), key=_smallest, reverse=True)


def _smallest(line: Line) -> float:
    location = line.costs[0].location
    return location.ratio if location else 0.0


def _collapse(line: Line) -> Message:
    first, *larger = line.costs
    mean, reference = (
        Amount(p.series.mean.estimate, p.series.series.unit or "1")
        for p in (first.place, first.beside)
    )
    return message(
        "audit.overhead.collapse",
        line=line_name(line),
        size=size_name(first.place),
        ratio=ratio(first),
        conclusive=first.verdict.conclusive,
        reference=line_name(first.beside),
        mean=mean,
        reference_mean=reference,
        means=change(first.means),
        others=[_at(c) for c in larger if c.verdict == HIGHER],
        inconclusive=[size_name(c.place) for c in larger if not c.verdict.conclusive],
        within=[size_name(c.place) for c in larger if c.verdict.conclusive and c.verdict != HIGHER],
    )


def _at(c: Cost) -> Message:
    """Give an estimate of a size, whose interval the table has."""
    return message("audit.overhead.at", ratio=_estimate(c), size=size_name(c.place))


def _size_of_ratio(c: Cost) -> float:
    return c.location.ratio if c.location else 1.0


def _estimate(c: Cost) -> str:
    return change(c.location.ratio) if c.location else "–"


def _pinning(found: OverheadAudit, line: Line) -> Message | None:
    """Say what pinning does to a platform that collapses; None where it was not pinned."""
    design = found.design
    same = [x for x in (*found.lines, *found.pinned) if x.platform == line.platform
            and x.where == line.where and x.pinning == design.pinned]  # fmt: skip
    if line.pinning != design.free or len(same) < 2:
        return None
    beside_bare, beside_free = same[0], same[-1]
    size = line.costs[0].place.size
    bare = next((c for c in beside_bare.costs if c.place.size == size), None)
    free = next((c for c in beside_free.costs if c.place.size == size), None)
    if bare is None or free is None or bare.location is None or free.location is None:
        return None
    left = math.log(bare.location.ratio) / math.log(_smallest(line))
    helps = free.location.high is not None and free.location.high < 1
    return message(
        "audit.overhead.pinning",
        helps=helps,
        removes=left <= _REMOVED,
        mostly=left <= _MOSTLY,
        line=line_name(beside_bare),
        size=size_name(bare.place),
        vs_bare=ratio(bare),
        bare=line_name(bare.beside),
        vs_free=ratio(free),
        free=line_name(free.beside),
        slower=[
            message("audit.overhead.at", ratio=ratio(c), size=size_name(c.place))
            for c in beside_free.costs
            if c.verdict == HIGHER
        ],
    )


def _model(found: OverheadAudit, line: Line) -> Message | None:
    model = line.model
    if model is None:
        return None
    if model.pso is None or model.pto is None:
        why = model.refusal or model.extrapolated
        return message("audit.overhead.unidentified", line=line_name(line), why=why)
    host = found.design.host_cores
    sizes = [c.place for c in line.costs if c.location is not None]
    return message(
        "audit.overhead.size",
        line=line_name(line),
        smallest=size_name(sizes[0]),
        largest=size_name(sizes[-1]),
        pso=Ratio(model.pso.value, model.pso.low, model.pso.high),
        pto=Ratio(model.pto.value, model.pto.low, model.pto.high),
        host=host is not None,
        cores=Chosen(host or found.whole or 0.0, "cores"),
    )


def _others(found: OverheadAudit, others: Sequence[Line]) -> Message:
    return message("audit.overhead.others", reference=found.design.reference, spans=_spans(others))


def _spans(lines: Sequence[Line]) -> list[Message]:
    said = [_span(x) for x in lines[:_MOST_LISTED]]
    more = len(lines) - _MOST_LISTED
    return [*said, message("audit.overhead.more", n=more)] if more > 0 else said


def _span(line: Line) -> Message:
    name, known = line_name(line), [c for c in line.costs if c.location is not None]
    if not known:
        return message("audit.overhead.line_uncompared", line=name)
    least, most = (pick(known, key=_size_of_ratio) for pick in (min, max))
    if least is most:
        return message("audit.overhead.line_one", line=name, ratio=ratio(least))
    if all(c.verdict == EQUIVALENT for c in known):
        return message("audit.overhead.line_equivalent", line=name)
    return message("audit.overhead.line_range", line=name, ends=[_at(least), _at(most)])


def caveats(found: OverheadAudit) -> list[Message]:
    """Say what weakens the costs."""
    design = found.design
    said = []
    if found.borrowed:
        said.append(
            message(
                "audit.overhead.borrowed",
                reference=design.reference,
                pinned=design.pinned,
                free=design.free,
            )
        )
    if any(not p.series.trials.known for p in found.places):
        said.append(message("audit.overhead.one_run"))
    quick = [
        c for x in found.lines for c in x.costs
        if c.verdict == LOWER and c.location and (c.location.high or 1.0) < _TOO_FAST
    ]  # fmt: skip
    if quick:
        said.append(_too_fast(found, quick))
    sizes = [p for p in found.places if p.cores is not None]
    if sizes and design.host_cores is None:
        said.append(message("audit.overhead.host"))
    said += _model_caveats(found)
    if found.alone:
        names = list(dict.fromkeys(f"{line_name(p)} {size_name(p)}".strip() for p in found.alone))
        said.append(
            message(
                "audit.overhead.alone",
                names=names[:_MOST_LISTED],
                others=max(0, len(names) - _MOST_LISTED),
            )
        )
    if found.cold is not None:
        said.append(message("audit.overhead.cold"))
    return said


def _too_fast(found: OverheadAudit, quick: Sequence[Cost]) -> Message:
    most: dict[str, Cost] = {}
    for c in sorted(quick, key=_size_of_ratio):
        most.setdefault(line_name(c.place), c)
    return message(
        "audit.overhead.too_fast",
        reference=found.design.reference,
        cases=[
            message("audit.overhead.case", line=name, ratio=_estimate(c), size=size_name(c.place))
            for name, c in most.items()
        ],
    )


def _model_caveats(found: OverheadAudit) -> list[Message]:
    models = [(x, x.model) for x in found.lines if x.model is not None]
    refusals: list[Message] = []
    for _, model in models:
        if model.refusal is not None and model.refusal not in refusals:
            refusals.append(model.refusal)
    said = [message("audit.overhead.unidentified", line=None, why=why) for why in refusals]
    off = [(x, m.misfit) for x, m in models if m.misfit is not None]
    if off:
        said.append(
            message(
                "audit.overhead.misfit",
                line=line_name(off[0][0]),
                others=len(off) - 1,
                why=off[0][1],
            )
        )
    return said
