"""The page of a network's fingerprint: what is to be published of it, with pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tare.network_fingerprint.difference import DECIDING
from tare.network_fingerprint.document import Figure, NetworkFingerprint, Write
from tare.network_fingerprint.telling import (
    doubts,
    figure_told,
    name_told,
    shaping_of,
)
from tare.render.tables import ABSENT, Head, Laid
from tare.report import network_fingerprint_figures as charts
from tare.report.origin import Origin
from tare.report.page import Figure as Chart
from tare.report.page import Page, Section
from tare.results.finding import Finding
from tare.results.message import Amount, Chosen, Message, Said, message
from tare.units import chosen, duration, quantity

#: With which the page is asked for.
OPTION = "--report network.html"
#: Bandwidths closer than this are called the same: a shaper's burst alone makes some tenths of it.
_SAME_SHARE = 0.01


def write(found: NetworkFingerprint, destination: Path, command: str) -> list[Path]:
    """Write the page of a fingerprint: HTML, or Markdown with its charts beside it.

    Parameters
    ----------
    found : NetworkFingerprint
    destination : Path
        Its ending, ``.html`` or ``.md``, tells the format.
    command : str
        That takes the same fingerprint again.

    Returns
    -------
    list of Path
        What was written, the page itself first.

    Raises
    ------
    StoreError
        If the ending is another, or the page cannot be written.
    """
    from tare.report import format_of, put

    return put(make(found, command), format_of(destination, OPTION), destination)


def make(found: NetworkFingerprint, command: str) -> Page:
    """Lay the page of a fingerprint out."""
    headline = [
        message(
            "net.fingerprint.figure",
            name=name_told(name),
            value=figure_told(found.figures[name]),
        )
        for name in ("bandwidth.fresh", "latency.unpaced.p50", "latency.loaded.p99")
        if name in found.figures
    ]
    return Page(
        name=f"network to {found.end}",
        question="What does this network do?",
        lead=None,
        headline=(shaping_of(found), *headline),
        strip=_strip(found),
        sections=(_figures(found), *_shaping(found), *_latency(found), *_writes(found)),
        overview=(),
        stops=None,
        doubts=(
            *(message("net.fingerprint.missing", what=p.what, why=p.why) for p in found.problems),
            *doubts(found),
        ),
        machine=(_ends(found),),
        origin=Origin(
            file=None,
            commands=(command,),
            digests=(("agent", found.agent),),
            versions=(found.tare,),
            seed=None,
        ),
        doubtful="Not measured, or doubtful",
        calm="Everything was measured.",
        rest=f"{command} --json -",
        badges=False,
        unfolded=48,
    )


def _strip(found: NetworkFingerprint) -> tuple[tuple[str, str], ...]:
    arrow = "to" if found.direction == "out" else "from"
    strip = [
        ("taken", found.started.replace("T", " ").removesuffix("Z")[:16] + " UTC"),
        ("effort", found.effort),
        ("in", duration(found.seconds)),
        (arrow, found.end),
        ("streams", f"{found.streams}"),
        ("sent", quantity(found.spent_bits, "bits")),
    ]
    strip += [(name, found.here[name]) for name in DECIDING if name in found.here]
    return tuple(strip)


def _section(
    anchor: str, question: str, answer: tuple[Said, ...], figures: list[Chart], tables: list[Laid]
) -> Section:
    finding = Finding(name=anchor, question=question, answer=answer, verdict="none")
    return Section(anchor, finding, tuple(figures), tuple(tables))


def _figures(found: NetworkFingerprint) -> Section:
    rows = tuple(
        (name_told(name), figure_told(figure), f"{figure.n}")
        for name, figure in found.figures.items()
    )
    heads = (("figure", False), ("value [95 %]", True), ("parts", True))
    return _section(
        "published",
        "Which figures belong to results on this network?",
        (message("net.fingerprint.published"),),
        [],
        [_laid("Every figure", heads, rows)],
    )


def _laid(
    title: str, heads: tuple[tuple[str, bool], ...], rows: tuple[tuple[str, ...], ...]
) -> Laid:
    return Laid(
        title=title,
        heads=tuple(Head(name, "", numeric=numeric) for name, numeric in heads),
        rows=rows,
    )


def _shaping(found: NetworkFingerprint) -> tuple[Section, ...]:
    if found.shaping is None:
        return ()
    answer: list[Said] = [shaping_of(found), *found.shaping.reasons]
    if found.searched is not None:
        answer.append(message("net.fingerprint.stopped", why=found.searched.ended))
    drawn = [chart for chart in (charts.course(found),) if chart is not None]
    return (_section("bucket", "Does a token bucket shape it?", tuple(answer), drawn, []),)


def _latency(found: NetworkFingerprint) -> tuple[Section, ...]:
    drawn = charts.latency(found)
    if drawn is None:
        return ()
    unpaced, loaded = (found.figures.get(f"latency.{name}.p50") for name in ("unpaced", "loaded"))
    answer: tuple[Said, ...] = (message("net.fingerprint.round_trips"),)
    if unpaced is not None and loaded is not None and unpaced.value > 0:
        grows = message(
            "net.fingerprint.grows",
            unpaced=Amount(unpaced.value, "ns"),
            loaded=Amount(loaded.value, "ns"),
        )
        answer = (grows, *answer, message("net.fingerprint.pacing"))
    return (_section("latency", "How does latency change under load?", answer, [drawn], []),)


def _writes(found: NetworkFingerprint) -> tuple[Section, ...]:
    if not found.writes:
        return ()

    def value(figure: Figure | None) -> str:
        return ABSENT if figure is None else quantity(figure.value, figure.unit)

    rows = tuple(
        (
            f"{chosen(one.write_bytes, 'bytes')}{', throttled' if one.throttled else ''}",
            figure_told(one.bandwidth),
            value(one.round_trip),
            value(one.retransmitted),
        )
        for one in found.writes
    )
    heads = (
        ("size", False), ("bandwidth [95 %]", True), ("round trip", True), ("retransmitted", True)
    )  # fmt: skip
    return (
        _section(
            "writes",
            "What does the size of writes do?",
            (fastest(found.writes), message("net.fingerprint.sizes_note")),
            [chart for chart in charts.writes(found) if chart is not None],
            [_laid("By size", heads, rows)],
        ),
    )


def fastest(writes: Sequence[Write]) -> Message:
    """Say which sizes of writes were the fastest: those that no other is shown to be faster than.

    Parameters
    ----------
    writes : sequence of Write
        At least one.
    """
    writes = [one for one in writes if not one.throttled] or writes
    best = max(writes, key=lambda one: one.bandwidth.value)
    slower = [one for one in writes if _is_slower(one.bandwidth, best.bandwidth)]
    alike = [one for one in writes if one not in slower]
    some = [one.bandwidth.value for one in alike]
    ends = dict.fromkeys(quantity(value, "bits/s") for value in (min(some), max(some)))
    if not slower:
        return message("net.fingerprint.sizes_alike", rates=[*ends])
    sizes = [Chosen(one.write_bytes, "bytes") for one in alike]
    return message("net.fingerprint.fastest", sizes=sizes, rates=[*ends])


def _is_slower(one: Figure, best: Figure) -> bool:
    """Say whether a bandwidth is shown to be lower, by more than the end of a phase can make it."""
    if one.ci is None or best.ci is None:
        return False
    return one.ci[1] < (1 - _SAME_SHARE) * best.ci[0]


def _ends(found: NetworkFingerprint) -> Laid:
    names = list(dict.fromkeys([*found.here, *found.there]))
    rows = tuple((n, found.here.get(n, ABSENT), found.there.get(n, ABSENT)) for n in names)
    heads = (("fact", False), ("here", False), ("there", False))
    return _laid("What both ends report", heads, rows)
