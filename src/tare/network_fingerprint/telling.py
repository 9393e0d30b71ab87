"""A fingerprint of a network in words."""

from __future__ import annotations

from tare.identification.document import Estimate, Identification
from tare.network_fingerprint.document import Figure, NetworkFingerprint, Starved
from tare.units import chosen, interval, quantity

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


#: Why two latencies of an idle network differ, to be told where both can be seen.
PACING = (
    "Unpaced round trips follow one another at once and keep both CPUs awake; at 100 a second, as "
    "tare net measure takes its idle latency, each first wakes a sleeping CPU and takes longer."
)


def starved_told(one: Starved) -> str:
    """Say that an end had no CPU."""
    tries = "" if one.tries == 1 else f", in the best of {one.tries} tries"
    if one.end is None:
        return f"round trips waited for a CPU for {100 * one.waited:.0f} % of their time{tries}"
    share = "" if one.intervals is None else (
        f", and {100 * one.intervals:.0f} % of the intervals say nothing of the network"
    )  # fmt: skip
    return f"the {one.end} had no CPU for {100 * one.waited:.0f} % of the time{share}{tries}"


def doubts(found: NetworkFingerprint) -> list[str]:
    """Say what was measured, but not as it should be."""
    told = [
        f"{', '.join(name_told(name) for name in one.figures)}: {starved_told(one)}"
        for one in found.starved
    ]
    sizes = [chosen(one.write_bytes, "bytes") for one in found.writes if one.throttled]
    if sizes:
        told.append(
            f"writes of {', '.join(sizes)}: the bucket held less than they needed and there "
            "was no time left to wait until it had filled, so that they are as fast as an empty one"
        )
    return told


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
    if figure.ci is None:
        return quantity(figure.value, figure.unit)
    return interval(figure.unit, figure.value, *figure.ci)


def shaping_told(found: NetworkFingerprint) -> str:
    """Say what shapes a network: never that nothing does, only how far it was looked."""
    shaping, searched = found.shaping, found.searched
    if shaping is not None and shaping.kind in ("bucket", "drop"):
        return bucket_told(shaping)
    if searched is None:
        return "a bucket was not looked for"
    within = f"{quantity(searched.bits, 'bits')} in {searched.seconds:.3g} s"
    kind = "" if shaping is None or shaping.kind == "constant" else f"{shaping.kind}; "
    return f"{kind}no bucket seen within {within}"


def bucket_told(shaping: Identification) -> str:
    """Say what is known of a bucket, or of what looks like one that was emptied once."""
    parts = [
        f"{word} {_estimate(value, rate=rate)}"
        for word, value, rate in (
            ("high", shaping.high_gbps, True),
            ("low", shaping.low_gbps, True),
            ("budget", shaping.budget_gbit, False),
            ("refill", shaping.refill_gbps, True),
        )
        if value is not None
    ]
    what = "bucket" if shaping.kind == "bucket" else "drop, not confirmed to be a bucket's"
    return f"{what}: {', '.join(parts)}" if parts else what


def estimates(shaping: Identification) -> list[tuple[str, str]]:
    """Return what is known of a bucket by name, each with its interval."""
    rows = []
    for name, known, rate in (
        ("high", shaping.high_gbps, True),
        ("low", shaping.low_gbps, True),
        ("budget", shaping.budget_gbit, False),
        ("refill", shaping.refill_gbps, True),
    ):
        if known is not None:
            ends = (1e9 * max(0.0, x) for x in (known.value, *known.ci))
            rows.append((name, interval("bits/s" if rate else "bits", *ends)))
    return rows


def _estimate(value: Estimate, *, rate: bool) -> str:
    return quantity(1e9 * value.value, "bits/s" if rate else "bits")


def account(shaping: Identification) -> list[str]:
    """Say what is left in a bucket now, and how long to rest until it is full."""
    told = []
    wire = shaping.wire
    if shaping.left_gbit is not None:
        told.append(f"Left now: {quantity(1e9 * wire * shaping.left_gbit.value, 'bits')}.")
    if shaping.full_after_s is not None:
        value, (low, high) = shaping.full_after_s.value, shaping.full_after_s.ci
        told.append(f"Full after a rest of {value:.0f} s [{low:.0f}, {high:.0f}].")
    if shaping.refill_gbps is not None:
        rate = quantity(1e9 * wire * shaping.refill_gbps.value, "bits/s")
        told.append(f"The bucket fills at {rate} while you send less.")
    return told
