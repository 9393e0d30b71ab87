"""A fingerprint of a network in words."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.fingerprints.network.difference import all_figures
from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint, Starved
from tare.experiment.fingerprints.network.identified import Identification, kind_of
from tare.render.words import shown
from tare.results import phrases
from tare.results.message import Amount, Chosen, Duration, Message, message
from tare.units import chosen

#: Names of figures as people say them, by how they begin and end.
_SUBJECTS = {
    "latency.unpaced": "unpaced latency",
    "latency.loaded": "loaded latency",
    "latency.throttled": "throttled latency",
    "bandwidth.fresh": "base bandwidth",
    "retransmitted.fresh": "segments retransmitted",
    "bucket.high": "bucket: high rate",
    "bucket.low": "bucket: low rate",
    "bucket.budget": "bucket: budget",
    "bucket.refill": "bucket: refill",
}


def doubts(found: NetworkFingerprint) -> list[Message]:
    """Say what was measured, but not as it should be: once for each end."""
    ends: dict[str | None, list[Starved]] = {}
    for one in found.starved:
        ends.setdefault(one.end, []).append(one)
    said = [_starved(some, found) for some in ends.values()]
    sizes = [Chosen(one.write_bytes, "bytes") for one in found.writes if one.throttled]
    if sizes:
        said.append(
            message(
                "writes of {sizes | join(', ')}: throttled by an empty bucket. It held less than "
                "they needed, and no time was left for a refill",
                sizes=sizes,
            )
        )
    return said


def _starved(some: Sequence[Starved], found: NetworkFingerprint) -> Message:
    waited = _range([one.waited for one in some])
    tries = max(one.tries for one in some)
    names = ["shaping", *all_figures(found)]
    # Of what was looked for and not found there is no figure.
    figures = [
        name_told(name)
        for name in dict.fromkeys(name for one in some for name in one.figures)
        if any(known == name or known.startswith(f"{name}.") for known in names)
    ]
    if some[0].end is None:
        return message(
            "round trips waited for a CPU for {waited | join(' to ')} of their time"
            "{% if tries > 1 %}, in the best of {tries} tries{% endif %}. Not representative "
            "of the network: {figures | listing}",
            figures=figures,
            waited=waited,
            tries=tries,
        )
    intervals = _range([one.intervals for one in some if one.intervals is not None])
    return message(
        "the {end} had no CPU for {waited | join(' to ')} of the time{% if intervals %} ("
        "{intervals | join(' to ')} of the intervals){% endif %}{% if tries > 1 %}, in the "
        "best of {tries} tries{% endif %}. Not representative of the network: "
        "{figures | listing}",
        figures=figures,
        end=some[0].end,
        waited=waited,
        tries=tries,
        intervals=intervals,
    )


def _range(shares: Sequence[float]) -> list[Amount]:
    """Return the smallest and the largest, once if they are the same."""
    ends = sorted({min(shares), max(shares)}) if shares else []
    return [Amount(share, "share") for share in ends]


def name_told(name: str) -> str:
    """Name a figure as a person does: "loaded latency, p99"."""
    if name in _SUBJECTS:
        return _SUBJECTS[name]
    stem, _, last = name.rpartition(".")
    if stem in _SUBJECTS:
        return f"{_SUBJECTS[stem]}, {last}"
    first, _, size = stem.partition(".")
    if stem == "write" and last.isdecimal():
        return f"writes of {chosen(int(last), 'bytes')}"
    if first == "write" and size.isdecimal():
        return f"writes of {chosen(int(size), 'bytes')}: {last.replace('_', ' ')}"
    return name


def figure_told(figure: Figure) -> str:
    """Write a figure with its interval."""
    return shown(figure.amount)


def shaping_of(found: NetworkFingerprint) -> Message:
    """Say what shapes a network: never that nothing does, only how far it was looked."""
    shaping, searched = found.shaping, found.searched
    if shaping is not None and shaping.kind in ("bucket", "drop"):
        return bucket_said(shaping)
    if searched is None:
        return message("no search for a bucket was made")
    return message(
        "{% if kind %}{kind}; {% endif %}no bucket seen within {sent} in {time}",
        kind=None if shaping is None or shaping.kind == "constant" else kind_of(shaping),
        sent=Amount(searched.bits, "bits"),
        time=Duration(searched.seconds),
    )


def bucket_said(shaping: Identification) -> Message:
    """Say what is known of a bucket, or of what looks like one that was emptied once."""
    parts = [
        message(phrases.NET_FINGERPRINT_PART, name=name, value=Amount(known.value, known.unit))
        for name, known in estimates(shaping)
    ]
    confirmed = shaping.kind == "bucket"
    return message(
        "{% if confirmed %}token bucket{% else %}drop, not confirmed to be a bucket's"
        "{% endif %}{% if parts %}: {parts | join(', ')}{% endif %}",
        confirmed=confirmed,
        parts=parts,
    )


def estimates(shaping: Identification) -> list[tuple[str, Amount]]:
    """Return what is known of a bucket by name, each with its interval."""
    return [
        (name, known.amount(unit))
        for name, known, unit in (
            ("high", shaping.high_gbps, "bits/s"),
            ("low", shaping.low_gbps, "bits/s"),
            ("budget", shaping.budget_gbit, "bits"),
            ("refill", shaping.refill_gbps, "bits/s"),
        )
        if known is not None
    ]


def took(seconds: float, bits: float) -> Message:
    """Say how long it took, and what was sent."""
    return message("{time}, {sent} on the wire", time=Duration(seconds), sent=Amount(bits, "bits"))


def account(shaping: Identification) -> list[Message]:
    """Say what is left in a bucket now, and after which idle period it is full."""
    said = []
    scale = 1e9 * shaping.wire
    if shaping.left_gbit is not None:
        left = Amount(scale * shaping.left_gbit.value, "bits")
        said.append(message("left now: {bits}", bits=left))
    if shaping.full_after_s is not None:
        time = shaping.full_after_s.amount("ns")
        said.append(message("full after an idle period of {time}", time=time))
    if shaping.refill_gbps is not None:
        rate = Amount(scale * shaping.refill_gbps.value, "bits/s")
        said.append(message("the bucket fills at {rate} while less is sent", rate=rate))
    return said
