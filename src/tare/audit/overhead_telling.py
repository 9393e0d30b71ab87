"""What platforms cost, in words: the same for the terminal and the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tare.audit.overhead import Cost, Line, OverheadAudit, Place
from tare.audit.telling import told_quantity
from tare.render.words import listing
from tare.results.verdict import EQUIVALENT, HIGHER, LOWER
from tare.statistics.platform_size_curves import Factor
from tare.units import change, change_interval

#: Factor at the smallest size from which a cost that falls with size is called a collapse.
_COLLAPSE = 2.0
#: Share of the cost (of its logarithm) that is left when pinning removes it, or most of it.
_REMOVED, _MOSTLY = 0.1, 0.5
#: Ratio below which a layer is too quick to be believed.
_TOO_FAST = 0.9
#: Platforms that collapse, and others, that are told one by one.
_MOST_COLLAPSES = 3
_MOST_LISTED = 8
#: From this factor on, what the reference goes up and down over its sizes is told.
_OF_RUNS = 1.05


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


def ratio_told(c: Cost) -> str:
    """Write a ratio with its interval, or why there is none."""
    if c.location is None:
        return f"not compared: {c.refusal}"
    return change_interval(c.location.ratio, c.location.low, c.location.high)


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


def brief(found: OverheadAudit) -> list[tuple[str, str]]:
    """Tell what matters most, each sentence with the word that it is headed by.

    Platforms that collapse where they are small; where none does, what each costs.
    """
    small = _small(found)[:_MOST_COLLAPSES]
    told = [("Cost", _collapse_told(x)) for x in small]
    told += [("Pinned", text) for x in small if (text := _pinning_told(found, x))]
    told += [("Size", text) for x in small if (text := _model_told(found, x))]
    return told or [("Cost", _others_told(found, found.lines))]


def sentences(found: OverheadAudit) -> list[str]:
    """Tell what every platform costs, and what pinning does to it."""
    small = _small(found)[:_MOST_COLLAPSES]
    told = [text for _, text in brief(found)]
    others = [x for x in found.lines if x not in small]
    if small and others:
        told.append(_others_told(found, others))
    rest = [x for x in found.pinned if not any(s.platform == x.platform for s in small)]
    if rest:
        told.append(f"Beside {found.design.free}: {_spans(rest)}.")
    return told


def _small(found: OverheadAudit) -> list[Line]:
    """Platforms that collapse where they are small, the worst first."""
    return sorted((x for x in found.lines if collapses(x)), key=_smallest, reverse=True)


def _smallest(line: Line) -> float:
    location = line.costs[0].location
    return location.ratio if location else 0.0


def _collapse_told(line: Line) -> str:
    first = line.costs[0]
    values = [told_quantity(p.series.mean.estimate, p.series.series.unit) for p in _ends(first)]
    shown = [c for c in line.costs[1:] if c.verdict == HIGHER]
    none = [size_name(c.place) for c in line.costs[1:] if c.verdict != HIGHER]
    more = "".join(f", {_ratio(c)} at {size_name(c.place)}" for c in shown)
    rest = f"; no cost at {listing(none)}" if none else ""
    return (
        f"Small {line_name(line)} collapses: {ratio_told(first)} beside "
        f"{line_name(first.beside)} at {size_name(first.place)} (mean {values[0]} against "
        f"{values[1]}){more}{rest}."
    )


def _size_of_ratio(c: Cost) -> float:
    return c.location.ratio if c.location else 1.0


def _ends(c: Cost) -> tuple[Place, Place]:
    return c.place, c.beside


def _ratio(c: Cost) -> str:
    return change(c.location.ratio) if c.location else "–"


def _pinning_told(found: OverheadAudit, line: Line) -> str | None:
    """Tell what pinning does to a platform that collapses; None where nobody pinned it."""
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
    if free.location.high is None or free.location.high >= 1:
        does = "is not shown to help"
    elif left <= _REMOVED:
        does = "removes it"
    else:
        does = "takes most of it away" if left <= _MOSTLY else "takes some of it away"
    hurts = [c for c in beside_free.costs if c.verdict == HIGHER]
    worse = listing(f"{ratio_told(c)} at {size_name(c.place)}" for c in hurts)
    return (
        f"Pinning {does}: {line_name(beside_bare)} at {size_name(bare.place)} is "
        f"{ratio_told(bare)} beside {line_name(bare.beside)}, and {ratio_told(free)} beside "
        f"{line_name(free.beside)}.{f' It costs where it is large: {worse}.' if hurts else ''}"
    )


def _model_told(found: OverheadAudit, line: Line) -> str | None:
    model = line.model
    if model is None:
        return None
    if model.pso is None or model.pto is None:
        return f"PTO and PSO of {line_name(line)} are not identifiable: {model.refusal}."
    whole = (
        f"the whole host ({found.design.host_cores:g} cores)"
        if found.design.host_cores
        else f"{found.whole:g} cores, the largest size"
    )
    return (
        f"The cost of {line_name(line)} is one of size: the smallest costs "
        f"{factor_told(model.pso)} what the largest does (PSO); with {whole}, "
        f"{factor_told(model.pto)} is left (PTO)."
    )


def factor_told(factor: Factor) -> str:
    """Write a factor with its interval."""
    return change_interval(factor.value, factor.low, factor.high)


def _others_told(found: OverheadAudit, others: Sequence[Line]) -> str:
    return f"Beside {found.design.reference} of the same size: {_spans(others)}."


def _spans(lines: Sequence[Line]) -> str:
    told = [f"{line_name(x)} {_span(x)}" for x in lines[:_MOST_LISTED]]
    more = len(lines) - _MOST_LISTED
    return listing([*told, f"{more} more"] if more > 0 else told)


def _span(line: Line) -> str:
    known = [c for c in line.costs if c.location is not None]
    if not known:
        return "not compared"
    least, most = (pick(known, key=_size_of_ratio) for pick in (min, max))
    if least is most:
        return ratio_told(least)
    if all(c.verdict == EQUIVALENT for c in known):
        return "the same at every size"
    ends = [f"{_ratio(c)} ({size_name(c.place)})" for c in (least, most)]
    return f"{ends[0]} to {ends[1]}"


def caveats(found: OverheadAudit) -> list[str]:
    """Tell what weakens the costs, each a sentence."""
    design = found.design
    told = []
    if found.borrowed:
        told.append(
            f"{design.reference} was not measured {design.pinned}: beside {design.pinned} "
            f"platforms stands {design.free} {design.reference} of the same size."
        )
    if any(not p.series.trials.known for p in found.places):
        told.append(_one_run(found))
    quick = [
        c for x in found.lines for c in x.costs
        if c.verdict == LOWER and c.location and (c.location.high or 1.0) < _TOO_FAST
    ]  # fmt: skip
    if quick:
        told.append(_too_fast(found, quick))
    sizes = [p for p in found.places if p.cores is not None]
    if sizes and design.host_cores is None:
        told.append(
            "How many cores the host has is not known: PSO is told over cores, as if the largest "
            "size were the whole host; --host-cores makes it CHR, assigned over host cores."
        )
    told += dict.fromkeys(_model_caveats(found))
    if found.alone:
        names = list(dict.fromkeys(f"{line_name(p)} {size_name(p)}".strip() for p in found.alone))
        told.append(f"Nothing stands beside {listing(names[:_MOST_LISTED])}: not compared.")
    if found.cold is not None:
        told.append("The first value of every series is left out of the ratios, as it is cold.")
    return told


def _one_run(found: OverheadAudit) -> str:
    back = _against_the_trend(found)
    spread = ""
    if back > _OF_RUNS:
        spread = (
            f"; over the sizes {found.design.reference} itself goes up and down by a factor of "
            f"{back:.2f}, and differences as small as that may be those of runs"
        )
    return (
        "Nothing says which execution a value comes from: where a series is one run, intervals "
        f"tell how far its items agree, not how far another run would{spread}."
    )


def _against_the_trend(found: OverheadAudit) -> float:
    """Return by which factor the reference goes against its trend over the sizes at most."""
    here = [
        (p.cores or 0.0, p.series.median.estimate) for p in found.places
        if p.platform == found.design.reference and p.pinning in (None, found.design.free)
    ]  # fmt: skip
    medians = [m for _, m in sorted(here) if m > 0]
    if not medians:
        return 1.0
    pairs = list(itertools.combinations(medians, 2))
    falls = medians[-1] <= medians[0]
    return max((b / a if falls else a / b for a, b in pairs), default=1.0)


def _too_fast(found: OverheadAudit, quick: Sequence[Cost]) -> str:
    most: dict[str, Cost] = {}
    for c in sorted(quick, key=_size_of_ratio):
        most.setdefault(line_name(c.place), c)
    told = listing(f"{name} ({_ratio(c)} at {size_name(c.place)})" for name, c in most.items())
    return (
        f"No layer takes work away, and yet {told} {'is' if len(most) == 1 else 'are'} faster than "
        f"{found.design.reference}: other work, other hardware or another run."
    )


def _model_caveats(found: OverheadAudit) -> list[str]:
    told = []
    for line in found.lines:
        m = line.model
        if m is not None and m.refusal is not None:
            told.append(f"PTO and PSO are not identifiable: {m.refusal}.")
    off = [x for x in found.lines if x.model is not None and x.model.misfit is not None]
    if off:
        first = off[0].model
        assert first is not None
        which = (
            line_name(off[0]) if len(off) == 1 else f"{line_name(off[0])} and {len(off) - 1} more"
        )
        told.append(f"{which}: {first.misfit}.")
    return told
