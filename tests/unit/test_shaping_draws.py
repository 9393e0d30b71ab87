"""Distributions become steps of rates."""

from __future__ import annotations

import numpy as np
import pytest

from tare.agent import record
from tare.errors import ExperimentError
from tare.networks.shaping import draws
from tare.networks.shaping.messages import describe, specification
from tare.networks.shaping.specification import Bucket, Distribution, parse
from tare.render.words import text as text_of

GBIT = 10**9


def _distribution(text: str) -> Distribution:
    found = parse(f"distribution {text}")
    assert isinstance(found, Distribution)
    return found


def test_rates_are_drawn_evenly_between_quantiles() -> None:
    asked = _distribution("10%=200Mbit 50%=600Mbit 90%=900Mbit")
    drawn = np.array(draws.drawn(asked, count=20_000))
    # Known from 10% to 90%, so that half of the draws are below the median.
    assert drawn.min() >= 200e6
    assert drawn.max() <= 900e6
    assert np.mean(drawn < 600e6) == pytest.approx(0.5, abs=0.015)
    low = drawn[drawn < 600e6]
    assert low.mean() == pytest.approx(400e6, rel=0.01)


def test_who_draws_again_draws_the_same() -> None:
    asked = _distribution("0%=1Gbit 100%=2Gbit seed=7")
    assert draws.drawn(asked) == draws.drawn(asked)
    others = [
        draws.drawn(asked, host=2),
        draws.drawn(asked, draw=1),
        draws.drawn(_distribution("0%=1Gbit 100%=2Gbit seed=8")),
    ]
    assert all(other != draws.drawn(asked) for other in others)


def test_the_agent_is_told_steps() -> None:
    shape = draws.shape(_distribution("0%=1Gbit 100%=2Gbit every=50s"), host=3)
    assert isinstance(shape, record.Steps)
    assert {step.duration_ns for step in shape.steps} == {50 * GBIT}
    assert len(shape.steps) == draws.DRAWN_STEPS


def test_a_bucket_begins_as_asked_or_goes_on() -> None:
    bucket = parse("bucket high=2Gbit low=200Mbit budget=10Gbit initial=3Gbit")
    assert isinstance(bucket, Bucket)
    first, later = draws.shape(bucket), draws.shape(bucket, carry=True)
    assert isinstance(first, record.Bucket)
    assert isinstance(later, record.Bucket)
    assert (first.tokens_bits, later.tokens_bits) == (3 * GBIT, None)
    full = draws.shape(parse("bucket high=2Gbit low=200Mbit budget=10Gbit"))
    assert isinstance(full, record.Bucket)
    assert full.tokens_bits == full.capacity_bits == 10 * GBIT


def test_the_bucket_of_one_host_may_begin_with_less() -> None:
    text = "bucket high=2Gbit low=200Mbit budget=10Gbit initial3=500Mbit"
    shaping = parse(text)
    begun = [draws.shape(shaping, host=host) for host in (1, 2, 3)]
    tokens = [one.tokens_bits for one in begun if isinstance(one, record.Bucket)]
    assert tokens == [10 * GBIT, 10 * GBIT, GBIT // 2]
    assert parse(specification(shaping)) == shaping
    assert "full at the start, 500 Mbit on host 3;" in text_of(describe(shaping))
    with pytest.raises(ExperimentError, match="initial2=20 Gbit is more than the budget"):
        parse("bucket high=2Gbit low=200Mbit budget=10Gbit initial2=20Gbit")
    with pytest.raises(ExperimentError, match="bucket has no initial0="):
        parse("bucket high=2Gbit low=200Mbit budget=10Gbit initial0=1Gbit")


def test_what_is_not_shaped_and_what_has_one_rate() -> None:
    assert draws.shape(None) == record.Unshaped()
    shape = draws.shape(parse("rate 200Mbit"))
    assert isinstance(shape, record.Steps)
    assert [step.rate_bps for step in shape.steps] == [200_000_000]
