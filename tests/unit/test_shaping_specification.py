"""What people write of networks, and what is said of what cannot be."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.errors import ExperimentError
from tare.networks.shaping import presets
from tare.networks.shaping.messages import describe, specification
from tare.networks.shaping.specification import (
    SOURCES,
    Bucket,
    Distribution,
    Rate,
    Replay,
    Shaping,
    parse,
)
from tare.render.words import text
from tare.results.message import Chosen

GBIT = 10**9


def test_the_texts_of_each_kind() -> None:
    assert parse("none") is None
    assert parse("rate 200 Mbit queue=1MB") == Rate(rate_bps=200_000_000, queue_bytes=1_000_000)
    words = "high=2Gbit low = 200 Mbit budget=10Gbit refill=100Mbit initial=3Gbit"
    assert parse(f"bucket {words}") == Bucket(
        high_bps=2 * GBIT,
        low_bps=200_000_000,
        refill_bps=100_000_000,
        capacity_bits=10 * GBIT,
        initial_bits=3 * GBIT,
    )
    words = "90%=900Mbit p10=200Mbit median=600Mbit seed=3"
    assert parse(f"distribution {words}") == Distribution(
        quantiles_bps=((0.1, 200_000_000), (0.5, 600_000_000), (0.9, 900_000_000)),
        every_s=5.0,
        seed=3,
    )
    assert parse("replay:my folder/trace.csv") == Replay(steps=(), origin="my folder/trace.csv")


def test_without_a_word_tokens_come_back_at_the_low_rate() -> None:
    bucket = parse("bucket high=2Gbit low=200Mbit budget=10Gbit")
    assert isinstance(bucket, Bucket)
    assert bucket.refill_bps == bucket.low_bps
    said = describe(bucket).args
    assert (said["refill"], said["as_low"]) == (Chosen(200_000_000, "bits/s"), True)


def test_a_preset_is_overridden_in_parts() -> None:
    whole, less = parse("bucket:c5.xlarge"), parse("bucket:c5.xlarge budget=100Gbit low=1Gbit")
    assert isinstance(whole, Bucket)
    assert isinstance(less, Bucket)
    # (9.689 - 1.254) Gbit/s for 521 s.
    assert whole.capacity_bits == 4_394_635_000_000
    assert less.high_bps == whole.high_bps
    assert (less.capacity_bits, less.low_bps, less.refill_bps) == (100 * GBIT, GBIT, GBIT)


@pytest.mark.parametrize("name", presets.BUCKETS)
def test_presets_are_buckets_of_hundreds_of_seconds(name: str) -> None:
    bucket = parse(f"bucket:{name}")
    assert isinstance(bucket, Bucket)
    empty_after_s = bucket.capacity_bits / (bucket.high_bps - bucket.refill_bps)
    assert empty_after_s == pytest.approx(presets.BUCKETS[name].empty_after_s)


@pytest.mark.parametrize("name", presets.CLOUDS)
def test_clouds_have_the_range_that_was_published(name: str) -> None:
    cloud = parse(f"distribution:{name.upper()} every=50s")
    assert isinstance(cloud, Distribution)
    assert [p for p, _ in cloud.quantiles_bps] == [0.0, 1.0]
    assert cloud.every_s == 50


def test_a_cloud_of_which_a_figure_alone_is_known_says_so() -> None:
    with pytest.raises(ExperimentError, match="a figure and no numbers") as caught:
        parse("distribution:A every=5s")
    assert "distribution 1%=" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("", "not specified by ''", "bucket high="),
        ("buckt high=1Gbit", "bucket is meant", "bucket high="),
        ("bucket high=2Gbit budget=1Gbit", "lacks low=", "low="),
        ("bucket high=2Gbit low=200Mbit", "lacks budget=", "budget="),
        ("bucket high=2Gbit low=1Gbit budget=1Gbit refil=1Gbit", "refill= is meant", "bucket"),
        (
            "bucket high=2Gbit low=1Gbit budget=1Gbit initial2=9Mbit inital3=1Mbit",
            "bucket has no inital3=, but high=, low=, budget=, refill=, initial=, queue=, "
            "initialN=; initial3= is meant?",
            "bucket",
        ),
        ("bucket high=2Gbit low=1Gbit budget=1Gbit initialN=1Mbit", "no initialN=", "bucket"),
        ("rate 1Gbit qeue3=1MB", "queue= is meant?", "rate"),
        ("bucket high=1Gbit low=1Gbit budget=1Gbit", "tokens change nothing", "rate 1Gbit"),
        ("bucket high=2Gbit low=1Gbit budget=1Gbit refill=2Gbit", "never empties", "rate 2Gbit"),
        ("bucket high=2Gbit low=1Gbit budget=1Gbit initial=2Gbit", "more than the budget", "2Gbit"),
        ("bucket high=2Gbit low=1Gbit budget=0bit", "holds nothing", "rate"),
        ("bucket high=2Gbit low=1Gbit budget=1Gbit/s", "a rate, not an amount", "10Gbit"),
        ("bucket high=2Gbit high=1Gbit low=1Mbit budget=1Gbit", "twice", "leave one"),
        ("bucket:c5.xlrage", "no bucket is called", "bucket:c5.xlarge"),
        ("bucket c5.xlarge", "says nothing", "bucket:c5.xlarge"),
        ("bucket:c5.4xlarge-5g", "one rate for hours", "rate 5.017Gbit"),
        ("rate", "how fast", "rate 200Mbit"),
        ("rate 0Mbit", "nothing would ever pass", "1Mbit"),
        ("rate 7bit", "from 8 bit/s", "1Mbit"),
        ("rate 101Tbit", "from 8 bit/s", "100Tbit"),
        ("bucket high=2Gbit low=1bit budget=1Gbit", "from 8 bit/s", "low=1Mbit"),
        ("rate 1Gbit queue=5GB", "4 GiB", "queue=4GB"),
        ("rate 1Gbit delay=3ms", "netem", "queue=1MB"),
        ("delay 10ms", "netem", "rate 200Mbit"),
        ("delay=10ms", "delay is not emulated", "rate 200Mbit"),
        ("loss", "netem", "rate 200Mbit"),
        ("rate 1Gbit loss=1%", "netem", "queue=1MB"),
        ("rate 1Gbit queue=10kB", "less than one packet", "100kB"),
        ("rate 1Gbit queue=", "says nothing", "queue="),
        ("none now", "says nothing", "none"),
        ("distribution 50%=1Gbit", "at least two", "10%="),
        ("distribution 10%=2Gbit 50%=1Gbit", "slower than", "10%="),
        ("distribution 10%=1Gbit 110%=2Gbit", "above 100%", "90%"),
        ("distribution 10%=1Gbit p10=2Gbit", "twice", "leave one"),
        ("distribution 0%=1Gbit 100%=2Gbit every=1ms", "every=1ms", "every=5s"),
        ("distribution 0%=1Gbit 100%=2Gbit seed=x", "seed=x", "seed=1"),
        ("distribution:Gogle", "no distribution is called", "distribution:google"),
        ("cloud:google", "is called distribution:NAME", "distribution:google"),
        ("replay:", "not say of what", "replay:"),
        ("rate 1Gbit\nqueue", "printable", None),
        ("rate 20Mbti", "no known unit", "rate 20Mbit"),
        ("rate 20", "no unit", "rate 200Mbit/s"),
        ("rate=200Mbit", "rate is meant", "rate 200Mbit"),
        (
            "bucket high = 2Gbit low=2x budget=10Gbit",
            "no known unit",
            "bucket high = 2Gbit low=200Mbit/s budget=10Gbit",
        ),
        ("rate 1\x1bGbit", "printable", None),
    ],
)
def test_what_cannot_be_is_told_with_what_can(text: str, said: str, hint: str | None) -> None:
    with pytest.raises(ExperimentError, match=said) as caught:
        parse(text)
    assert hint is None or hint in (caught.value.hint or hint)


_rates = st.integers(8, 10**14)
_queues = st.none() | st.integers(66_000, 10**9)


@st.composite
def shapings(draw: st.DrawFn) -> Shaping:
    low, high = sorted(draw(st.lists(_rates, min_size=2, max_size=2, unique=True)))
    budget = draw(st.integers(1, 10**15))
    probabilities = draw(st.lists(st.integers(0, 100), min_size=2, max_size=8, unique=True))
    ordered = sorted(draw(st.lists(_rates, min_size=8, max_size=8)))
    return draw(
        st.sampled_from(
            [
                None,
                Rate(rate_bps=low, queue_bytes=draw(_queues)),
                Bucket(
                    high_bps=high,
                    low_bps=low,
                    refill_bps=draw(st.integers(0, high - 1)),
                    capacity_bits=budget,
                    initial_bits=draw(st.none() | st.integers(0, budget)),
                    queue_bytes=draw(_queues),
                ),
                Distribution(
                    quantiles_bps=tuple(
                        zip((p / 100 for p in sorted(probabilities)), ordered, strict=False)
                    ),
                    every_s=draw(st.sampled_from([0.1, 5.0, 50.0, 7.25])),
                    seed=draw(st.none() | st.integers(0, 10**6)),
                    source=draw(st.sampled_from([None, *SOURCES])),
                    queue_bytes=draw(_queues),
                ),
                Replay(steps=(), origin="folder/of a trace"),
            ]
        )
    )


@given(shapings())
def test_every_shaping_has_a_text_that_says_it(shaping: Shaping) -> None:
    assert parse(specification(shaping)) == shaping
    assert text(describe(shaping))


@given(st.text(max_size=60))
def test_nothing_that_is_written_is_unforeseen(written: str) -> None:
    for prefix in ("", "bucket ", "rate ", "distribution ", "bucket high="):
        with contextlib.suppress(ExperimentError):
            text(describe(parse(prefix + written)))


def test_a_distribution_names_where_its_quantiles_come_from() -> None:
    words = "distribution 0%=1Mbit 100%=2Mbit every=50s source="
    assert "made-up quantiles" in text(describe(parse(f"{words}made-up")))
    with pytest.raises(ExperimentError, match="source=guess is none of made-up, measured"):
        parse(f"{words}guess")
