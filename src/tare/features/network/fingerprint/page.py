"""Makes the report of a network's fingerprint: what is to be published of it, with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tare.experiment.fingerprints.network.difference import DECIDING
from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint, Write
from tare.experiment.fingerprints.network.messages import doubts, name_told, shaping_of, took
from tare.features.network import phrases as network_phrases
from tare.features.network.fingerprint import page_figures as charts
from tare.features.network.fingerprint import phrases as fingerprint_phrases
from tare.features.network.measure.page_tables import ends_table
from tare.results.finding import Table
from tare.results.message import Amount, Chosen, Message, Said, message
from tare.results.report import Entry, NextStep, Origin, Report, Section
from tare.units import chosen, duration, quantity

#: Bandwidths closer than this are called the same: a shaper's burst alone makes some tenths of it.
_SAME_SHARE = 0.01
#: Facts of both ends that a terminal prints, in order; the file and the page have all.
_FACTS = (
    "instance_type", "region", "zone", "kernel", "interface", "driver", "mtu", "qdisc", "tso",
    "gro", "congestion", "cpus",
)  # fmt: skip
#: Characters of a fact.
_LONGEST = 60


def make(found: NetworkFingerprint, command: str, next_step: NextStep | None = None) -> Report:
    """Make the report of a fingerprint.

    Parameters
    ----------
    found : NetworkFingerprint
    command : str
        As typed.
    next_step : NextStep or None
        What to type next; None: nothing.
    """
    headline = [
        message(
            network_phrases.FINGERPRINT_FIGURE,
            name=name_told(name),
            value=found.figures[name].amount,
        )
        for name in ("bandwidth.fresh", "latency.unpaced.p50", "latency.loaded.p99")
        if name in found.figures
    ]
    return Report(
        command="net fingerprint",
        name=f"network to {found.end}",
        question=message("What does this network do?"),
        answers=(shaping_of(found), *headline),
        entries=tuple(_entries(found)),
        next_steps=() if next_step is None else (next_step,),
        further=tuple(
            one for one in (_leading(found), writes(found) if found.writes else None) if one
        ),
        strip=_strip(found),
        sections=(_figures(found), *_shaping(found), *_latency(found), *_writes(found)),
        doubts=(
            *(message("{what}: {why}", what=p.what, why=p.why) for p in found.problems),
            *doubts(found),
        ),
        machine=(ends_table("What both ends report", found.here, found.there),),
        origin=Origin(
            commands=(command,),
            digests=(("agent", found.agent),),
            versions=(found.tare,),
        ),
        doubtful="Not measured, or doubtful",
        calm="Everything was measured.",
        rest=f"{command} --json -",
        badges=False,
        unfolded=48,
    )


def _entries(found: NetworkFingerprint) -> Iterator[Entry]:
    """State what shapes the network, both ends, and what is doubtful."""
    yield Entry.of("Answer", shaping_of(found), "strong")
    said: list[Said] = []
    if found.shaping is not None and found.shaping.kind in ("bucket", "drop"):
        said += found.shaping.reasons
    if found.searched is not None:
        said.append(message(fingerprint_phrases.FINGERPRINT_STOPPED, why=found.searched.ended))
    yield from Entry.each("Reason", said)
    for label, facts in (("Here", found.here), ("There", found.there)):
        some = [f"{name} {facts[name][:_LONGEST]}" for name in _FACTS if name in facts]
        yield Entry(
            label,
            message(
                "{% if facts %}{facts | join(', ')}{% else %}nothing was reported{% endif %}",
                facts=some,
            ),
        )
    for problem in found.problems:
        yield Entry("Missing", message("{what}: {why}", what=problem.what, why=problem.why))
    yield from (Entry.of("Doubt", doubt) for doubt in doubts(found))
    yield Entry.of("Took", took(found.seconds, found.spent_bits))


def _leading(found: NetworkFingerprint) -> Table | None:
    """Lay out the figures that a terminal has: of latencies the median and the 99th percentile."""
    some = {
        name: figure
        for name, figure in found.figures.items()
        if not name.startswith("latency.") or name.endswith((".p50", ".p99"))
    }
    return _table(message("Leading figures"), some) if some else None


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


def figures(found: NetworkFingerprint) -> Table:
    """Lay every figure out."""
    return _table(message("Every figure"), found.figures)


def _table(title: Message, some: Mapping[str, Figure]) -> Table:
    rows = ((name_told(name), f.amount, f.n) for name, f in some.items())
    return Table.of(title, ("figure", "value [95 %]", "parts"), rows)


def _figures(found: NetworkFingerprint) -> Section:
    return Section.of(
        "published",
        "Which figures belong to results on this network?",
        (
            message(
                "bandwidth is acknowledged payload; rates and amounts of a bucket are on the "
                "wire, as it counts them. Intervals are over parts of the time"
            ),
        ),
        tables=[figures(found)],
    )


def _shaping(found: NetworkFingerprint) -> Iterator[Section]:
    if found.shaping is None:
        return
    answer: list[Said] = [shaping_of(found), *found.shaping.reasons]
    if found.searched is not None:
        answer.append(message(fingerprint_phrases.FINGERPRINT_STOPPED, why=found.searched.ended))
    question = "Does a token bucket shape it?"
    yield Section.of("bucket", question, answer, [charts.course(found)])


def _latency(found: NetworkFingerprint) -> Iterator[Section]:
    drawn = charts.latency(found)
    if drawn is None:
        return
    unpaced, loaded = (found.figures.get(f"latency.{name}.p50") for name in ("unpaced", "loaded"))
    answer = [
        message("round trips of 64 bytes on a connection of their own, as an application sees them")
    ]
    if unpaced is not None and loaded is not None and unpaced.value > 0:
        grows = message(
            "median latency: {unpaced} unpaced, {loaded} loaded",
            unpaced=Amount(unpaced.value, "ns"),
            loaded=Amount(loaded.value, "ns"),
        )
        paced = message(
            "unpaced round trips follow one another at once and keep both CPUs awake. At 100 a "
            "second, as in tare net measure, each first wakes a sleeping CPU and takes longer"
        )
        answer = [grows, *answer, paced]
    yield Section.of("latency", "How does latency change under load?", answer, [drawn])


def writes(found: NetworkFingerprint) -> Table:
    """Lay out what writes of each size brought."""

    def value(figure: Figure | None) -> Amount | None:
        return None if figure is None else figure.amount

    rows = (
        (
            f"{chosen(one.write_bytes, 'bytes')}{', throttled' if one.throttled else ''}",
            one.bandwidth.amount,
            value(one.round_trip),
            value(one.retransmitted),
        )
        for one in found.writes
    )
    heads = ("size", "bandwidth [95 %]", "round trip", "retransmitted")
    return Table.of(message("By size of writes"), heads, rows)


def _writes(found: NetworkFingerprint) -> Iterator[Section]:
    if found.writes:
        own = message(
            "round trips are the kernel's smoothed ones of the stream itself, as in CLOUDNET's "
            "Figure 12"
        )
        answer, question = (fastest(found.writes), own), "What does the size of writes do?"
        yield Section.of("writes", question, answer, charts.writes(found), [writes(found)])


def fastest(some: Sequence[Write]) -> Message:
    """Say which sizes of writes were the fastest: those that no other is shown to be faster than.

    Parameters
    ----------
    some : sequence of Write
        At least one.
    """
    some = [one for one in some if not one.throttled] or some
    best = max(some, key=lambda one: one.bandwidth.value)
    slower = [one for one in some if _is_slower(one.bandwidth, best.bandwidth)]
    alike = [one for one in some if one not in slower]
    rates = [one.bandwidth.value for one in alike]
    ends = dict.fromkeys(quantity(value, "bits/s") for value in (min(rates), max(rates)))
    if not slower:
        return message(
            "no size of writes is shown to be faster than another by more than 1 %: "
            "{rates | join(' to ')}",
            rates=[*ends],
        )
    sizes = [Chosen(one.write_bytes, "bytes") for one in alike]
    return message(
        "fastest with writes of {sizes | join(', ')}: {rates | join(' to ')}",
        sizes=sizes,
        rates=[*ends],
    )


def _is_slower(one: Figure, best: Figure) -> bool:
    """Say whether a bandwidth is shown to be lower, by more than the end of a phase can make it."""
    if one.ci is None or best.ci is None:
        return False
    return one.ci[1] < (1 - _SAME_SHARE) * best.ci[0]
