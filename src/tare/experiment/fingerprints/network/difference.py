"""Is it still the same network? Two fingerprints beside each other, figure by figure.

A network varies by itself from one hour to the next by more than the parts of one measurement show.
So a figure differs only where its whole interval of change is beyond the figure's margin, and is
the same only where all of it is within.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import msgspec

from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint, Unit

#: ``differs``: surely by more than the margin; ``same``: surely by less; ``inconclusive``: neither.
Verdict = Literal["differs", "same", "inconclusive"]

#: Change that matters, by how names begin; the longest that fits counts. What matters of medians
#: is a twentieth, as CLOUDNET (F5.3) has it; tails differ from hour to hour by much more.
MARGINS: dict[str, float] = {
    "bandwidth": 0.05,
    "bucket": 0.05,
    "bucket.budget": 0.10,
    "latency": 0.25,
    "latency.unpaced.p99": 1.0,
    "latency.loaded": 0.50,
    "latency.loaded.p90": 1.0,
    "latency.loaded.p99": 1.0,
    "latency.throttled": 0.50,
    "latency.throttled.p90": 1.0,
    "latency.throttled.p99": 1.0,
    "write": 0.10,
}
#: Of the round trips of a stream itself: it fills its own queue.
_OWN_TRIPS = "round_trip", 0.50
#: By so many nanoseconds latencies differ with how deeply CPUs sleep and where threads wake, from
#: one minute to the next: a network is not shown to be another by less.
WAKING_NS = 50_000.0
#: Their tails by more: few of them find all CPUs asleep.
_TAILS, TAILS_WAKING_NS = (".p90", ".p99"), 4 * WAKING_NS
#: Of what nothing else is said.
DEFAULT_MARGIN = 0.1
#: Shares of segments that are sent again differ by so much of all segments.
SHARE_MARGIN = 0.005
#: The largest of all says more of how long was measured than of the network: it is not compared.
_EXTREME = ".max"
#: Of both ends, what makes another network of it; other facts are told alone.
DECIDING = (
    "instance_type", "region", "zone", "mtu", "congestion", "tso", "gso", "gro", "qdisc",
    "interface_speed",
)  # fmt: skip
#: How it was measured: no facts of the network.
SETTINGS = ("direction", "streams", "effort", "tare", "agent")
#: Kinds that look alike as long as no bucket is emptied.
_UNSHAPED = frozenset({"constant", "noisy", "interrupted", "capped", "starved"})


#: Why a figure is inconclusive: an end had no CPU; latencies differ by no more than with how deeply
#: CPUs sleep; or the interval is too wide.
Cause = Literal["cpu", "waking", "wide"]

#: An end that had no CPU; ``either``: round trips waited, at whichever end.
Lacking = Literal["sender", "receiver", "either"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, before and after."""

    figure: str
    unit: Unit
    before: float
    after: float
    #: After over before; for shares: after less before. None: there is no ratio to nothing.
    change: float | None
    low: float | None
    high: float | None
    #: In the measure of the change.
    margin: float
    verdict: Verdict
    #: Ends that had no CPU when it was measured, so that it is inconclusive what it differs by.
    starved: tuple[Lacking, ...] = ()

    @property
    def cause(self) -> Cause | None:
        """Why it is inconclusive; None: it is not."""
        if self.verdict != "inconclusive":
            return None
        if self.starved:
            return "cpu"
        return "waking" if self.beyond else "wide"

    @property
    def beyond(self) -> bool:
        """Whether the whole interval of the change is beyond the margin."""
        if self.low is None or self.high is None:
            return False
        share = self.unit == "1"
        least, most = (-self.margin, self.margin) if share else _factors(self.margin)
        return self.low > most or self.high < least


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Two fingerprints beside each other."""

    version: int = 1
    verdict: Verdict
    #: Those that differ first, then what is inconclusive.
    changes: tuple[Change, ...]
    #: What shapes it and what both ends say, where it differs: name, before, after.
    facts: dict[str, tuple[str | None, str | None]]
    #: Of the facts, those that make another network of it.
    deciding: tuple[str, ...]
    #: Figures that only one of the two has.
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    #: By figure, or how figures begin: ends that had no CPU in either of the two.
    starved: dict[str, tuple[Lacking, ...]] = {}
    #: Sizes of writes that met an empty bucket in either of the two: they are not compared.
    throttled: tuple[int, ...] = ()

    @property
    def differing(self) -> tuple[Change, ...]:
        """Figures that differ by more than matters."""
        return tuple(c for c in self.changes if c.verdict == "differs")

    @property
    def undecided(self) -> tuple[Change, ...]:
        """Figures of which neither is sure."""
        return tuple(c for c in self.changes if c.verdict == "inconclusive")


def _factors(margin: float) -> tuple[float, float]:
    """Return a margin of ratios, as far down as up."""
    return 1 / (1 + margin), 1 + margin


def margin(figure: str) -> float:
    """Return the relative change of a figure that matters."""
    if figure.endswith(_OWN_TRIPS[0]):
        return _OWN_TRIPS[1]
    fitting = [name for name in MARGINS if figure == name or figure.startswith(f"{name}.")]
    return MARGINS[max(fitting, key=len)] if fitting else DEFAULT_MARGIN


def compare(before: NetworkFingerprint, after: NetworkFingerprint) -> Difference:
    """Compare two fingerprints.

    Parameters
    ----------
    before, after : NetworkFingerprint
    """
    throttled = sorted(
        {one.write_bytes for found in (before, after) for one in found.writes if one.throttled}
    )
    a, b = (all_figures(found, without=throttled) for found in (before, after))
    facts = _facts(before, after)
    deciding = decisive(facts)
    shaping, known = _shaping(before, after)
    starved = starved_of(before, after)
    if shaping is not None:
        facts = {"shaping": shaping, **facts}
        known = known and "shaping" not in starved
        deciding = ("shaping", *deciding) if known else deciding
    open_end = shaping is not None and not known
    made = between(a, b, facts, deciding, open_end=open_end, starved=starved)
    return msgspec.structs.replace(made, throttled=tuple(throttled))


def starved_of(*some: NetworkFingerprint) -> dict[str, tuple[Lacking, ...]]:
    """Return by figure, or how figures begin, which ends had no CPU in any of the fingerprints."""
    found: dict[str, tuple[Lacking, ...]] = {}
    for one in (starved for fingerprint in some for starved in fingerprint.starved):
        for name in one.figures:
            ends = (*found.get(name, ()), one.end or "either")
            found[name] = tuple(dict.fromkeys(ends))
    return found


def _lacking(name: str, starved: Mapping[str, tuple[Lacking, ...]]) -> tuple[Lacking, ...]:
    ends = (
        end
        for start, some in starved.items()
        if name == start or name.startswith(f"{start}.")
        for end in some
    )
    return tuple(dict.fromkeys(ends))


def decisive(facts: Mapping[str, tuple[str | None, str | None]]) -> tuple[str, ...]:
    """Return which facts make another network of it; what one end does not tell decides nothing."""
    return tuple(
        name
        for name, told in facts.items()
        if name.rpartition(" ")[2] in DECIDING and None not in told
    )


def between(
    before: Mapping[str, Figure],
    after: Mapping[str, Figure],
    facts: Mapping[str, tuple[str | None, str | None]],
    deciding: Iterable[str] = (),
    *,
    open_end: bool = False,
    starved: Mapping[str, tuple[Lacking, ...]] | None = None,
) -> Difference:
    """Compare figures by name; ``open_end``: something else is inconclusive beside them.

    What was measured while an end had no CPU (``starved``) does not differ, but is inconclusive.
    """
    before, after = (
        {name: figure for name, figure in some.items() if not name.endswith(_EXTREME)}
        for some in (before, after)
    )
    common = [name for name in before if name in after and before[name].unit == after[name].unit]
    lacking = starved or {}
    changes = sorted(
        (_spared(change(n, before[n], after[n]), _lacking(n, lacking)) for n in common),
        key=_prominence,
    )
    decided = tuple(deciding)
    verdicts = {c.verdict for c in changes}
    verdict: Verdict = "same"
    if "differs" in verdicts or decided:
        verdict = "differs"
    elif "inconclusive" in verdicts or not changes or open_end:
        verdict = "inconclusive"
    return Difference(
        verdict=verdict,
        changes=tuple(changes),
        facts=dict(facts),
        deciding=decided,
        only_before=tuple(name for name in before if name not in common),
        only_after=tuple(name for name in after if name not in common),
        starved=dict(lacking),
    )


def _spared(one: Change, ends: tuple[Lacking, ...]) -> Change:
    if not ends or one.verdict != "differs":
        return one
    return msgspec.structs.replace(one, verdict="inconclusive", starved=ends)


def all_figures(found: NetworkFingerprint, without: Collection[int] = ()) -> dict[str, Figure]:
    """Return every figure by name, those of writes as well: ``write.1024.bandwidth``.

    Parameters
    ----------
    found : NetworkFingerprint
    without : collection of int
        Sizes of writes that are left out.
    """
    figures = dict(found.figures)
    for write in (one for one in found.writes if one.write_bytes not in without):
        named = {
            "bandwidth": write.bandwidth,
            "round_trip": write.round_trip,
            "retransmitted": write.retransmitted,
        }
        figures |= {
            f"write.{write.write_bytes}.{name}": figure
            for name, figure in named.items()
            if figure is not None
        }
    return figures


def waking_ns(figure: str) -> float:
    """Return by how much a latency may differ with how deeply CPUs sleep."""
    return TAILS_WAKING_NS if figure.endswith(_TAILS) else WAKING_NS


def change(name: str, before: Figure, after: Figure) -> Change:
    """Put one figure beside itself."""
    share = before.unit == "1"
    limit = SHARE_MARGIN if share else margin(name)
    measure = _by_share if share else _by_ratio
    value, low, high = measure(before, after)
    inner, outer = (-limit, limit) if share else _factors(limit)
    verdict: Verdict = "inconclusive"
    if low is not None and high is not None:
        if low > outer or high < inner:
            wakes = before.unit == "ns" and abs(after.value - before.value) < waking_ns(name)
            verdict = "inconclusive" if wakes else "differs"
        elif inner <= low and high <= outer:
            verdict = "same"
    return Change(
        figure=name,
        unit=before.unit,
        before=before.value,
        after=after.value,
        change=value,
        low=low,
        high=high,
        margin=limit,
        verdict=verdict,
    )


_Change = tuple[float | None, float | None, float | None]


def _by_ratio(before: Figure, after: Figure) -> _Change:
    if before.value <= 0 or after.value <= 0:
        return None, None, None
    ratio = after.value / before.value
    if before.ci is None or after.ci is None or min(before.ci[0], after.ci[0]) <= 0:
        return ratio, None, None
    # The ends of the two intervals, in logs as if they were independent.
    down = math.hypot(math.log(after.value / after.ci[0]), math.log(before.ci[1] / before.value))
    up = math.hypot(math.log(after.ci[1] / after.value), math.log(before.value / before.ci[0]))
    return ratio, ratio * math.exp(-down), ratio * math.exp(up)


def _by_share(before: Figure, after: Figure) -> _Change:
    value = after.value - before.value
    if before.ci is None or after.ci is None:
        return value, None, None
    down = math.hypot(after.value - after.ci[0], before.ci[1] - before.value)
    up = math.hypot(after.ci[1] - after.value, before.value - before.ci[0])
    return value, value - down, value + up


def _prominence(one: Change) -> tuple[int, float]:
    order = {"differs": 0, "inconclusive": 1, "same": 2}
    if one.change is None:
        return order[one.verdict], 0.0
    size = abs(one.change) if one.unit == "1" else abs(math.log(one.change))
    return order[one.verdict], -size


def _facts(
    before: NetworkFingerprint, after: NetworkFingerprint
) -> dict[str, tuple[str | None, str | None]]:
    """Return what differs of both ends, and first of how they were measured."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for name in ("end", *SETTINGS):
        was, now = (str(getattr(one, name)) for one in (before, after))
        if was != now:
            found[name] = (was[:80], now[:80])
    for side in ("here", "there"):
        a, b = getattr(before, side), getattr(after, side)
        for name in sorted({*a, *b}):
            if a.get(name) != b.get(name):
                found[f"{side} {name}"] = (a.get(name), b.get(name))
    return found


def _shaping(
    before: NetworkFingerprint, after: NetworkFingerprint
) -> tuple[tuple[str, str] | None, bool]:
    """Return what shapes the two where it differs, and whether that it differs is known.

    A bucket that one of them was emptied of may be there beyond what the other has sent.
    """
    a, b = before.shaping, after.shaping
    if a is None or b is None or a.kind == b.kind:
        return None, False
    told = (a.kind, b.kind)
    buckets = [one for one in (before, after) if one.shaping and one.shaping.kind not in _UNSHAPED]
    if not buckets:
        # Noise, or an outage: of a moment.
        return None, False
    if len(buckets) == 2:
        return told, False
    bucket, other = buckets[0], after if buckets[0] is before else before
    budget = bucket.figures.get("bucket.budget")
    if budget is None or budget.ci is None or other.searched is None:
        return told, False
    return told, other.searched.bits > budget.ci[1] * (1 + margin("bucket.budget"))
