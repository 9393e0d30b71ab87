"""How what leaves a host is shaped, as it is asked for."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from tare import units
from tare.errors import ExperimentError
from tare.networks.shaping import presets, rates
from tare.networks.shaping.options import Words, nearest, taken_apart
from tare.networks.shaping.quantiles import Quantiles, in_order, interval_s, is_quantile
from tare.results.message import Message
from tare.units import chosen, typed_bits


class Bucket(msgspec.Struct, frozen=True, kw_only=True, tag="bucket"):
    """A token bucket: ``high_bps`` while there are tokens, then ``low_bps``.

    Rates and amounts are in bits as the interface counts them, headers included.
    """

    high_bps: int
    low_bps: int
    #: Tokens come back at this rate, always, up to the capacity.
    refill_bps: int
    capacity_bits: int
    #: With which it begins; None: full.
    initial_bits: int | None = None
    #: Instead of that, of single hosts: pairs of a number and tokens.
    hosts_bits: tuple[tuple[int, int], ...] = ()
    queue_bytes: int | None = None

    def begins_with(self, host: int | None = None) -> int:
        """Return the tokens with which it begins, on a host or on those that are not named."""
        initial = self.capacity_bits if self.initial_bits is None else self.initial_bits
        return dict(self.hosts_bits).get(host or 0, initial)


class Rate(msgspec.Struct, frozen=True, kw_only=True, tag="rate"):
    """One rate for ever."""

    rate_bps: int
    queue_bytes: int | None = None


class Distribution(msgspec.Struct, frozen=True, kw_only=True, tag="distribution"):
    """A bandwidth drawn anew every so often, uniformly between quantiles."""

    #: Pairs of probability and rate, ascending, from the first known quantile to the last.
    quantiles_bps: tuple[tuple[float, int], ...]
    every_s: float
    seed: int | None = None
    #: Where the quantiles come from: a word of `SOURCES`; None: not given.
    source: str | None = None
    queue_bytes: int | None = None


class Replay(msgspec.Struct, frozen=True, kw_only=True, tag="replay"):
    """What was measured, once more: rate by rate, and from the beginning again."""

    #: Pairs of seconds and rate; none: not read yet (:mod:`tare.networks.replay`).
    steps: tuple[tuple[float, int], ...]
    #: Where it was measured: a file or a folder.
    origin: str
    queue_bytes: int | None = None
    #: What the steps are, if not just what a receiver got.
    notes: tuple[Message, ...] = ()


Shaping = Bucket | Rate | Distribution | Replay | None
#: What a specification can be of, by its first word; ``none``: unshaped.
Kind = Literal["none", "bucket", "rate", "distribution", "replay"]

EXAMPLES: dict[Kind, str] = {
    "none": "none",
    "bucket": "bucket high=2Gbit low=200Mbit budget=10Gbit",
    "rate": "rate 200Mbit",
    "distribution": "distribution 10%=200Mbit 50%=600Mbit 90%=900Mbit every=5s",
    "replay": "replay:FOLDER",
}
#: Origins that a distribution can name: answers name those that are made up.
SOURCES = ("made-up", "measured", "published")
#: CLOUDNET drew anew every 5 or 50 seconds.
EVERY_S = 5.0
#: The kernel hands packets of 64 KiB and headers to an interface, which a smaller queue all drops.
LEAST_QUEUE_BYTES = 66_000
#: What the kernel counts a queue in.
_MOST_QUEUE_BYTES = 2**32 - 1
#: Less than a byte a second; and beyond, the kernel's rates are not exact.
_LEAST_BPS, _MOST_BPS = 8, 10**14


def parse(text: str) -> Shaping:
    """Return what a specification says.

    Parameters
    ----------
    text : str
        ``none``, ``rate 200Mbit``, ``bucket:c5.xlarge budget=100Gbit``, …; see ``EXAMPLES``.

    Returns
    -------
    Shaping
        A replay has no steps yet: its file is read by :mod:`tare.networks.replay`.

    Raises
    ------
    ExperimentError
        If it cannot be understood, or asks for what no network does: what, and what would do.
    """
    words = taken_apart(text)
    kinds = {
        "none": _none, "bucket": _bucket, "rate": _rate, "distribution": _distribution,
        "replay": _replay,
    }  # fmt: skip
    if words.kind == "cloud":
        raise ExperimentError(
            "a cloud's measured distribution is called distribution:NAME",
            f"distribution:{words.name}",
        )
    if words.kind not in kinds:
        near = nearest(words.kind.partition("=")[0], kinds)
        raise ExperimentError(
            f"a network is not specified by {words.kind!r}, but by {', '.join(get_args(Kind))}"
            + (f"; {near} is meant?" if near else ""),
            next((told for kind, told in EXAMPLES.items() if kind == near), EXAMPLES["bucket"]),
        )
    try:
        return kinds[words.kind](words)
    except rates.WrongQuantityError as error:
        # The whole specification with another quantity can be typed.
        raise ExperimentError(error.message, error.corrected(text)) from None


def _none(words: Words) -> None:
    words.only((), "none")
    _nothing_else(words, "none")


def _rate(words: Words) -> Rate:
    words.only(("queue",), EXAMPLES["rate"])
    if words.name:
        raise ExperimentError(f"no rate is called {words.name!r}", EXAMPLES["rate"])
    if not words.value:
        raise ExperimentError("rate does not say how fast", EXAMPLES["rate"])
    return Rate(rate_bps=_positive(words.value, "rate"), queue_bytes=_queue(words))


def _bucket(words: Words) -> Bucket:
    example = EXAMPLES["bucket"]
    words.only(("high", "low", "budget", "refill", "initial", "queue"), example, ("initial",))
    of_hosts = words.of_hosts("initial")
    _nothing_else(words, example)
    preset = _preset(words.name) if words.name else None
    given = words.options
    if preset is None:
        words.needed("high", "the rate while there are tokens", example)
        words.needed("low", "the rate without tokens", example)
        words.needed("budget", "the tokens that it holds when it is full", example)
    high = _positive(given["high"], "high") if "high" in given else _of(preset).high_bps
    low = _positive(given["low"], "low") if "low" in given else _of(preset).low_bps
    budget = _budget(given["budget"]) if "budget" in given else _of(preset).budget_bits
    bucket = Bucket(
        high_bps=high,
        low_bps=low,
        refill_bps=rates.read(units.rate, "refill", given["refill"]) if "refill" in given else low,
        capacity_bits=budget,
        initial_bits=rates.read(units.bits, "initial", given["initial"])
        if "initial" in given
        else None,
        hosts_bits=tuple(
            sorted((host, rates.read(units.bits, n, given[n])) for n, host in of_hosts.items())
        ),
        queue_bytes=_queue(words),
    )
    _possible(bucket)
    return bucket


def _of(preset: presets.MeasuredBucket | None) -> presets.MeasuredBucket:
    assert preset is not None
    return preset


def _preset(name: str) -> presets.MeasuredBucket:
    if name in presets.BUCKETS:
        return presets.BUCKETS[name]
    if name in presets.NO_BUCKET:
        raise ExperimentError(
            f"no bucket was ever seen at {name}: it kept one rate for hours",
            f"rate {typed_bits(presets.NO_BUCKET[name])}",
        )
    near = nearest(name, presets.BUCKETS)
    raise ExperimentError(
        f"no bucket is called {name!r}, but {', '.join(presets.BUCKETS)}",
        f"bucket:{near}" if near else EXAMPLES["bucket"],
    )


def _possible(bucket: Bucket) -> None:
    """Refuse a token bucket whose parameters would shape nothing; raises ExperimentError."""
    high, low = chosen(bucket.high_bps, "bits/s"), chosen(bucket.low_bps, "bits/s")
    if bucket.low_bps >= bucket.high_bps:
        raise ExperimentError(
            f"low={low} is no lower than high={high}, so that tokens change nothing",
            f"rate {typed_bits(bucket.high_bps)}",
        )
    if bucket.refill_bps >= bucket.high_bps:
        raise ExperimentError(
            f"refill={chosen(bucket.refill_bps, 'bits/s')} is as fast as high={high}, so that the "
            "bucket never empties",
            f"rate {typed_bits(bucket.high_bps)}",
        )
    most, host = max((bucket.begins_with(host), host) for host in (0, *dict(bucket.hosts_bits)))
    if most > bucket.capacity_bits:
        raise ExperimentError(
            f"initial{host or ''}={chosen(most, 'bits')} is more than the budget, "
            f"{chosen(bucket.capacity_bits, 'bits')}, that the bucket holds",
            f"budget={typed_bits(most)}",
        )


def _distribution(words: Words) -> Distribution:
    example = EXAMPLES["distribution"]
    _nothing_else(words, example)
    if words.name:
        words.only(
            ("every", "seed", "source", "queue"), f"distribution:{next(iter(presets.CLOUDS))}"
        )
        return _drawn(words, _measured(words.name))
    written = {name: value for name, value in words.options.items() if is_quantile(name)}
    Words(words.kind, "", "", {k: v for k, v in words.options.items() if k not in written}).only(
        ("every", "seed", "source", "queue"), example
    )
    return _drawn(words, in_order(written, example))


def _measured(name: str) -> Quantiles:
    """Return what is known of the distribution of a cloud."""
    small = name.lower()
    if small in presets.CLOUDS:
        measured = presets.CLOUDS[small]
        return (0.0, measured.least_bps), (1.0, measured.most_bps)
    if small.upper() in presets.DRAWN:
        percent = " ".join(f"{one}%=…" for one in presets.DRAWN_PERCENT)
        raise ExperimentError(
            f"of cloud {small.upper()} CLOUDNET gives a figure and no numbers, so that it must be "
            "told what was read off it",
            f"distribution {percent} every=5s",
        )
    near = nearest(small, presets.CLOUDS)
    raise ExperimentError(
        f"no distribution is called {name!r}, but {', '.join(presets.CLOUDS)}",
        f"distribution:{near}" if near else EXAMPLES["distribution"],
    )


def _drawn(words: Words, quantiles: Quantiles) -> Distribution:
    given = words.options
    source = given.get("source")
    if source is not None and source not in SOURCES:
        raise ExperimentError(f"source={source} is none of {', '.join(SOURCES)}", "source=made-up")
    return Distribution(
        quantiles_bps=quantiles,
        every_s=interval_s(given["every"]) if "every" in given else EVERY_S,
        seed=_seed(given["seed"]) if "seed" in given else None,
        source=source,
        queue_bytes=_queue(words),
    )


def _replay(words: Words) -> Replay:
    words.only(("queue",), EXAMPLES["replay"])
    origin = words.name or words.value
    if not origin:
        raise ExperimentError("replay does not say of what", EXAMPLES["replay"])
    return Replay(steps=(), origin=origin, queue_bytes=_queue(words))


def _nothing_else(words: Words, example: str) -> None:
    if words.value or (words.kind == "none" and words.name):
        what = words.value or words.name
        named = words.kind == "bucket" and what in presets.BUCKETS
        raise ExperimentError(
            f"{words.kind} says nothing by {what!r}", f"bucket:{what}" if named else example
        )


def _positive(text: str, name: str) -> int:
    if not (rate := rates.read(units.rate, name, text)):
        raise ExperimentError(f"{name}={text}: nothing would ever pass", f"{name}=1Mbit")
    if not _LEAST_BPS <= rate <= _MOST_BPS:
        raise ExperimentError(
            f"{name}={text} is not from 8 bit/s to 100 Tbit/s, which the kernel keeps to",
            f"{name}=1Mbit" if rate < _LEAST_BPS else f"{name}=100Tbit",
        )
    return rate


def _budget(text: str) -> int:
    if not (bits := rates.read(units.bits, "budget", text)):
        raise ExperimentError(f"budget={text}: a bucket that holds nothing is none", "rate 200Mbit")
    return bits


def _queue(words: Words) -> int | None:
    if "queue" not in words.options:
        return None
    text = words.options["queue"]
    if (size := rates.read(units.size, "queue", text)) < LEAST_QUEUE_BYTES:
        raise ExperimentError(
            f"queue={text} is less than one packet: the kernel hands on up to 64 KiB at once",
            "queue=100kB",
        )
    if size > _MOST_QUEUE_BYTES:
        raise ExperimentError(f"queue={text} is more than the kernel's 4 GiB", "queue=4GB")
    return size


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise ExperimentError(f"seed={text} is no whole number from 0", "seed=1")
    return int(text)
