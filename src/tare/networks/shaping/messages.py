"""What a shaping does, as a message and as it is typed."""

from __future__ import annotations

from tare.networks.shaping.specification import Bucket, Distribution, Rate, Replay, Shaping
from tare.results.message import Chosen, Duration, Message, message
from tare.units import typed_bits


def describe(shaping: Shaping) -> Message:
    """Return what a shaping does, in one line."""
    match shaping:
        case None:
            return message("not shaped")
        case Rate():
            said = message("{rate}, constant", rate=Chosen(shaping.rate_bps, "bits/s"))
        case Bucket():
            said = _bucket(shaping)
        case Distribution():
            said = _distribution(shaping)
        case Replay():
            said = _replay(shaping)
    if shaping.queue_bytes is None:
        return said
    return message(
        "{shaping}; queue {queue}", shaping=said, queue=Chosen(shaping.queue_bytes, "bytes")
    )


def specification(shaping: Shaping) -> str:
    """Return the specification of a shaping, which :func:`parse` reads back."""
    match shaping:
        case None:
            return "none"
        case Rate():
            words = [f"rate {typed_bits(shaping.rate_bps)}"]
        case Bucket():
            words = [
                f"bucket high={typed_bits(shaping.high_bps)} low={typed_bits(shaping.low_bps)}",
                f"budget={typed_bits(shaping.capacity_bits)} "
                f"refill={typed_bits(shaping.refill_bps)}",
            ]
            if shaping.initial_bits is not None:
                words.append(f"initial={typed_bits(shaping.initial_bits)}")
            words += [f"initial{host}={typed_bits(bits)}" for host, bits in shaping.hosts_bits]
        case Distribution():
            quantiles = [f"{100 * p:.8g}%={typed_bits(rate)}" for p, rate in shaping.quantiles_bps]
            words = ["distribution", *quantiles, f"every={shaping.every_s:.10g}s"]
            if shaping.seed is not None:
                words.append(f"seed={shaping.seed}")
            if shaping.source is not None:
                words.append(f"source={shaping.source}")
        case Replay():
            words = [f"replay:{shaping.origin}"]
    if shaping.queue_bytes is not None:
        words.append(f"queue={shaping.queue_bytes}B")
    return " ".join(words)


def _bucket(bucket: Bucket) -> Message:
    initial = bucket.initial_bits
    return message(
        "{high} while the bucket has tokens, then {low}; budget {budget}, {% if initial %}"
        "{initial}{% else %}full{% endif %} at the start{% for one in hosts %}, {one}"
        "{% endfor %}; refills at {refill}{% if as_low %}, the low rate{% endif %}",
        high=Chosen(bucket.high_bps, "bits/s"),
        low=Chosen(bucket.low_bps, "bits/s"),
        budget=Chosen(bucket.capacity_bits, "bits"),
        initial=None if initial is None else Chosen(initial, "bits"),
        hosts=[
            message("{initial} on host {host}", host=host, initial=Chosen(bits, "bits"))
            for host, bits in bucket.hosts_bits
        ],
        refill=Chosen(bucket.refill_bps, "bits/s"),
        as_low=bucket.refill_bps == bucket.low_bps,
    )


def _distribution(distribution: Distribution) -> Message:
    (least, low), *_, (most, high) = distribution.quantiles_bps
    return message(
        "{low} to {high}{% if span %} (quantiles {span | join(' to ')}; nothing is known "
        "beyond){% endif %}, drawn anew every {every}, uniformly between {quantiles}"
        "{% if source %} {source}{% endif %} quantiles",
        low=Chosen(low, "bits/s"),
        high=Chosen(high, "bits/s"),
        span=None if (least, most) == (0.0, 1.0) else [Chosen(least), Chosen(most)],
        every=Duration(distribution.every_s),
        quantiles=len(distribution.quantiles_bps),
        source=distribution.source,
    )


def _replay(replay: Replay) -> Message:
    rates = [rate for _, rate in replay.steps]
    return message(
        "as measured in {origin}{% if steps %}: {steps | counted('step')} in {time}, "
        "{slowest} to {fastest}, repeated{% endif %}{% for note in notes %}; {note}"
        "{% endfor %}",
        origin=replay.origin,
        steps=len(rates),
        time=Duration(sum(seconds for seconds, _ in replay.steps)),
        slowest=Chosen(min(rates, default=0), "bits/s"),
        fastest=Chosen(max(rates, default=0), "bits/s"),
        notes=replay.notes,
    )
