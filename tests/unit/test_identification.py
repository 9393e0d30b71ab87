"""What is said of traces whose truth was made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import vega_lite
from model_bucket import Phase, carried, pattern
from noisy_traces import bucket, flat, noisy
from said import args, template

from tare.experiment.fingerprints.network.identified import Estimate, Identification, kind_of
from tare.features.network.charts import identified
from tare.features.network.charts.identified import tokens_left
from tare.features.network.identify.identifying import identify
from tare.features.network.identify.phases import next_phase
from tare.networks.shaping.specification import Bucket
from tare.networks.shaping.trace import Trace
from tare.render.words import paragraph, sentence, text
from tare.results.message import Message, message
from tare.units import quantity

EMPTY = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0))
ONCE: list[Phase] = [(True, 120.0), (False, 200.0), (True, 90.0)]
IDLE: list[Phase] = [*ONCE, (False, 80.0), (True, 60.0)]


def near(found: Estimate | None, truth: float, within: float = 0.04) -> bool:
    if found is None:
        return False
    slack = 0.5 * (found.ci[1] - found.ci[0])
    inside = found.ci[0] - slack <= truth <= found.ci[1] + slack
    return inside and abs(found.value / truth - 1) <= within


def said(found: Identification) -> str:
    return paragraph(found.reasons)


def ids(found: Identification) -> list[str]:
    return [template(one) for one in found.reasons if isinstance(one, Message)]


@pytest.mark.parametrize("sd", [0.0, 0.03, 0.1])
@pytest.mark.parametrize(
    ("phases", "interval_s"),
    [(IDLE, 1.0), (IDLE, 0.1), (pattern(10, 30, 4000), 1.0), (pattern(5, 30, 6000), 1.0)],
    ids=["idle", "idle at 0.1 s", "10-30", "5-30"],
)
def test_a_bucket_is_found_with_its_figures(
    sd: float, phases: list[Phase], interval_s: float
) -> None:
    found = identify(noisy(carried(bucket(), phases, interval_s), sd), {"host": "a"})
    assert found.kind == "bucket", said(found)
    assert found.key == {"host": "a"}
    assert near(found.high_gbps, 10)
    assert near(found.low_gbps, 1)
    assert near(found.budget_gbit, 500, 0.08)
    assert near(found.refill_gbps, 1, 0.06)
    assert found.capacity_shown is False
    assert "if it was" in ids(found)


def test_one_drop_is_never_a_bucket() -> None:
    found = identify(noisy(carried(bucket(), [(True, 200.0)], 1.0)), {})
    assert found.kind == "drop"
    assert "not confirmed" in sentence(kind_of(found))
    assert "it fell once." in ids(found)
    assert near(found.time_to_empty_s, 500 / 9)
    assert found.budget_gbit is None
    assert found.refill_gbps is None
    assert "as on EC2" in ids(found)


def test_intervals_as_long_as_bursts_hide_the_low_rate() -> None:
    found = identify(noisy(carried(bucket(), pattern(10, 30, 6000), 10.0)), {})
    assert found.kind == "drop"
    assert found.low_gbps is None
    assert found.budget_gbit is None
    assert "rate is not" in ids(found)
    assert near(found.high_gbps, 10)


def test_a_refill_other_than_the_low_rate_takes_three_rests() -> None:
    shape = bucket(refill=0.5)
    once = identify(noisy(carried(shape, ONCE, 0.1)), {})
    assert once.kind == "drop"
    assert "it was fast" not in ids(once)
    assert once.next_rest_s == pytest.approx(100, rel=0.05)
    more: list[Phase] = [*ONCE, (False, 100.0), (True, 40.0), (False, 150.0), (True, 40.0)]
    thrice = identify(noisy(carried(shape, more, 0.1)), {})
    assert thrice.kind == "bucket", said(thrice)
    assert near(thrice.refill_gbps, 0.5)
    assert near(thrice.budget_gbit, 500)


def test_a_bucket_that_was_not_full_is_told_by_a_longer_rest() -> None:
    shape = bucket(initial=200.0)
    phases: list[Phase] = [*IDLE, (False, 900.0), (True, 120.0)]
    found = identify(noisy(carried(shape, phases, 0.5)), {})
    assert found.kind == "bucket"
    assert found.capacity_shown is True
    assert near(found.budget_gbit, 500)
    assert near(found.start_gbit, 200)


def test_a_rest_that_fills_it_says_nothing_of_the_refill() -> None:
    phases: list[Phase] = [(True, 120.0), (False, 5000.0), (True, 120.0)]
    found = identify(noisy(carried(bucket(), phases, 0.5)), {})
    assert found.kind == "drop"
    assert found.refill_gbps is None
    # What cools down in the rest would look the same.
    assert found.next_rest_s == pytest.approx(250, rel=0.05)
    shorter: list[Phase] = [*phases, (False, 250.0), (True, 120.0), (False, 100.0), (True, 60.0)]
    told = identify(noisy(carried(bucket(), shorter, 0.5)), {})
    assert told.kind == "bucket"
    assert told.capacity_shown is True
    assert near(told.budget_gbit, 500)
    assert near(told.refill_gbps, 1)


def test_what_is_left_and_how_long_to_rest() -> None:
    phases: list[Phase] = [*IDLE, (False, 100.0)]
    trace = noisy(carried(bucket(), phases, 0.5))
    found = identify(trace, {})
    assert near(found.left_gbit, 100)
    assert near(found.full_after_s, 400)
    left = tokens_left(trace, found)
    assert left is not None
    assert left[-1] / 1e9 == pytest.approx(100, rel=0.1)
    assert left.max() <= 1e9 * found.budget_gbit.value  # type: ignore[union-attr]


#: Bits on the wire of what receivers acknowledge at once.
PIECE = 8 * 65_160 * 1514 / 1448


def in_pieces(trace: Trace) -> Trace:
    pieces = np.floor(np.cumsum(trace.bits) / PIECE)
    return replace(trace, bits=PIECE * np.diff(pieces, prepend=0.0))


@pytest.mark.parametrize("low", [0.01, 0.025, 0.1])
@pytest.mark.parametrize("interval_s", [0.02, 0.1])
def test_low_rates_are_told_from_pieces_of_64_kib(low: float, interval_s: float) -> None:
    budget = 0.3
    rest = 0.3 * budget / low
    phases: list[Phase] = [
        (True, 6.0), (False, rest), (True, 6.0), (False, 2 * rest), (True, 6.0)
    ]  # fmt: skip
    found = identify(in_pieces(carried(bucket(0.3, low, budget), phases, interval_s)), {})
    assert found.kind == "bucket", said(found)
    for figure, truth in ((found.high_gbps, 0.3), (found.low_gbps, low)):
        assert figure is not None
        assert figure.ci[0] <= truth <= figure.ci[1]
        assert figure.value == pytest.approx(truth, rel=0.015)
    assert near(found.budget_gbit, budget, 0.02)
    assert near(found.refill_gbps, low, 0.02)


@pytest.mark.parametrize("refill", [1.0, 0.6])
def test_bursts_may_begin_and_end_within_intervals(refill: float) -> None:
    phases: list[Phase] = [
        (True, 119.3), (False, 200.4), (True, 90.35), (False, 80.6), (True, 60.45), (False, 140.7),
        (True, 60.2),
    ]  # fmt: skip
    found = identify(noisy(carried(bucket(refill=refill), phases, 1.0), 0.01), {})
    assert found.kind == "bucket", said(found)
    assert near(found.refill_gbps, refill, 0.03)
    assert near(found.budget_gbit, 500, 0.03)


def one_step(n: int = 900, at: int = 300) -> np.ndarray:
    return np.where(np.arange(n) < at, 10.0, 5.0)


#: Sends of 300 s, rests of 100 and 250 s.
AT = np.arange(1250)
UNEQUAL = (AT < 300) | ((AT >= 400) & (AT < 700)) | (AT >= 950)


def test_what_gathers_no_tokens_is_refuted_by_unequal_rests() -> None:
    since = np.where(AT < 300, AT, np.where(AT < 700, AT - 400, AT - 950))
    boost = noisy(flat(np.where(since < 40, 10.0, 4.0), UNEQUAL))
    found = identify(boost, {})
    assert found.kind == "boost", said(found)
    assert found.budget_gbit is None
    assert found.next_rest_s is not None
    # After so short a rest no bucket that fills at the low rate would hold as much.
    short = AT < 620
    sent = short & ((AT < 300) | (AT >= 320))
    since = np.where(AT < 300, AT, AT - 320)
    told = identify(noisy(flat(np.where(since < 40, 10.0, 4.0)[short], sent[short])), {})
    assert told.kind == "boost", said(told)
    assert told.next_rest_s is None
    # Fast again for as long as it has cooled: more after a longer rest, but not in proportion.
    warm = np.where(AT < 300, AT < 150, np.where(AT < 700, AT < 400 + 95, AT < 950 + 135))
    cooled = identify(noisy(flat(np.where(warm, 10.0, 7.0), UNEQUAL)), {})
    assert cooled.kind == "hysteresis", said(cooled)


def test_what_has_no_one_rate_has_a_name_of_its_own() -> None:
    heat = np.zeros(len(AT))
    for at in AT[1:]:
        heat[at] = heat[at - 1] + (float(UNEQUAL[at]) - heat[at - 1]) / 100
    rng = np.random.default_rng(1)
    some = {
        "drifting": flat(10 * (1 - 0.4 * AT / len(AT)), UNEQUAL),
        "declining": flat(10 - 6 * heat, UNEQUAL),
        "contention": flat(np.where(rng.random(len(AT)) < 0.4, 10.0, 5.0)),
    }
    for kind, trace in some.items():
        found = identify(noisy(trace), {})
        assert found.kind == kind, said(found)
        assert found.high_gbps is None
        assert found.reasons


def test_what_spends_less_than_comes_in_empties_no_bucket() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cuts = np.sort(rng.choice(np.arange(60, 1190), 3, replace=False))
        rates = np.repeat(rng.uniform(1, 10, 4), np.diff([0, *cuts, len(AT)]))
        found = identify(noisy(flat(rates, UNEQUAL), 0.03, seed), {})
        assert "held -" not in said(found), said(found)
        assert "−" not in said(found), said(found)


def test_only_what_was_seen_is_told_to_be_constant() -> None:
    rates = noisy(flat(np.full(60, 5.0)), 0.01)
    later = np.where(np.arange(60) < 30, 0.0, 600_000.0)
    apart = replace(rates, start_s=rates.start_s + later, end_s=rates.end_s + later)
    found = identify(apart, {})
    assert found.kind == "constant"
    assert found.seconds == pytest.approx(60)
    assert args(tuple(found.reasons), "no change is")["time"].seconds == pytest.approx(60)


def test_a_figure_and_its_reason_tell_one_rate() -> None:
    rng = np.random.default_rng(3)
    found = identify(flat(10 * np.minimum(1.0, np.exp(0.5 * rng.standard_normal(900)))), {})
    assert found.kind == "noisy"
    assert found.high_gbps is not None
    assert quantity(1e9 * found.high_gbps.value, "bits/s") in said(found)


def test_ends_without_cpu_blame_no_network() -> None:
    rate = one_step()[::-1].copy()
    trace = noisy(flat(rate))
    assert identify(trace, {}).kind == "stepped"
    spoiled = replace(trace, starved=np.arange(len(rate)) % 5 == 0)
    found = identify(spoiled, {})
    assert found.kind == "starved"
    assert ids(found) == ["time of sending."]
    assert found.high_gbps is None


@pytest.mark.parametrize("sd", [0.03, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_no_bucket_is_not_called_one(sd: float, seed: int) -> None:
    at = np.arange(900)
    rest, burst = (at < 400) | (at >= 600), at % 40 < 10
    some = {
        "one rate": (flat(np.full(900, 10.0)), {"constant", "noisy"}),
        "drift": (flat(np.linspace(10, 7, 900)), {"drifting"}),
        "step": (flat(one_step()), {"drop"}),
        "step with a rest": (flat(one_step(), rest), {"stepped"}),
        "step in bursts": (flat(one_step(), burst), {"stepped"}),
        "up": (flat(one_step()[::-1].copy()), {"stepped"}),
        "wild": (
            flat(10 * np.exp(0.3 * np.random.default_rng(seed + 9).standard_normal(900)), burst),
            {"noisy"},
        ),
        "several": (flat(np.repeat([10.0, 4.0, 8.0], 300)), {"stepped"}),
    }
    for name, (trace, kinds) in some.items():
        found = identify(noisy(trace, sd, seed), {})
        assert found.kind in kinds, f"{name}: {said(found)}"
        assert found.budget_gbit is None
        assert found.reasons


def test_a_cap_needs_to_know_the_interface() -> None:
    trace = noisy(flat(np.full(300, 5.0)), 0.01)
    assert identify(trace, {}).kind == "constant"
    assert identify(trace, {}, 10e9).kind == "capped"
    assert identify(trace, {}, 5.2e9).kind == "constant"


def test_outages_are_told_and_are_no_low_rate() -> None:
    rates = np.full(600, 5.0)
    rates[100:103] = 0
    rates[590:] = 0
    found = identify(noisy(flat(rates), 0.01), {})
    assert found.kind == "interrupted"
    assert found.outages == 2
    outages = found.reasons[ids(found).index("in all. The")]
    assert isinstance(outages, Message)
    assert outages.args["n"] == 2
    assert near(found.high_gbps, 5)


def test_too_little_is_said_to_be() -> None:
    for trace in (EMPTY, flat(np.full(3, 5.0))):
        found = identify(trace, {})
        assert found.high_gbps is None
        assert ids(found) == ["a pause in"]
    silent = identify(flat(np.zeros(50)), {})
    assert silent.kind == "interrupted"


def test_gaps_make_a_budget_uncertain_and_many_of_them_unknown() -> None:
    whole = noisy(carried(bucket(), IDLE, 0.5))
    keep = np.ones(len(whole), dtype=bool)
    keep[20:22] = False
    few = replace(
        whole, **{name: getattr(whole, name)[keep] for name in ("start_s", "end_s", "bits", "on_s")}
    )
    known, found = identify(whole, {}).budget_gbit, identify(few, {}).budget_gbit
    assert known is not None
    assert found is not None
    assert found.ci[1] - found.ci[0] > known.ci[1] - known.ci[0]
    keep[20:60] = False
    many = replace(
        whole, **{name: getattr(whole, name)[keep] for name in ("start_s", "end_s", "bits", "on_s")}
    )
    lacking = identify(many, {})
    assert lacking.start_gbit is None


def adapt(shape: Bucket, interval_s: float, **asked: float) -> tuple[Identification, list[Phase]]:
    """Measure a bucket as is asked for, phase by phase."""
    phases: list[Phase] = []
    trace = EMPTY
    for _ in range(200):
        what = next_phase(trace, **asked)
        assert text(what.why)
        if what.action == "done":
            return identify(trace, {}), phases
        seconds = max(1, round(what.seconds / interval_s)) * interval_s
        phases.append((what.action == "send", seconds))
        trace = noisy(carried(shape, phases, interval_s))
    raise AssertionError("it never ends")


def test_phases_make_a_bucket_known() -> None:
    found, phases = adapt(bucket(2, 0.2, 10), 0.1)
    assert found.kind == "bucket"
    assert near(found.budget_gbit, 10)
    assert near(found.refill_gbps, 0.2)
    rests = [seconds for sending, seconds in phases if not sending]
    assert len(rests) == 2
    assert max(rests) >= 1.5 * min(rests)


def test_phases_tell_a_refill_from_the_low_rate() -> None:
    found, phases = adapt(bucket(2, 0.2, 10, refill=0.1), 0.1)
    assert found.kind == "bucket"
    assert near(found.refill_gbps, 0.1)
    assert 2 <= sum(not sending for sending, _ in phases) <= 4


def test_phases_end_where_no_bucket_is_seen() -> None:
    found, phases = adapt(bucket(2, 2, 10), 0.1, most_s=60.0)
    assert found.kind == "constant"
    assert all(sending for sending, _ in phases)
    assert sum(seconds for _, seconds in phases) == pytest.approx(60, rel=0.1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(100))
def test_whatever_a_trace_holds_is_answered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 80))
    start = np.arange(n) + np.cumsum(np.where(rng.random(n) < 0.1, rng.exponential(20, n), 0))
    rate = (
        np.full(n, 5e9), 10.0 ** rng.uniform(-3, 12, n), rng.choice([0, 1e9, 1e10], n),
        np.where(np.arange(n) < n // 2, 1e10, 1e9), rng.exponential(1e9, n),
    )[seed % 5]  # fmt: skip
    on = np.where(rng.random(n) < rng.choice([0, 0.3]), 0, rng.choice([1, 0.5]))
    bits = rate * on
    bits[rng.random(n) < rng.choice([0, 0.1, 1.0], p=[0.5, 0.4, 0.1])] = np.nan
    trace = Trace(start, start + 1, bits, on.astype(float))
    found, what = identify(trace, {}), next_phase(trace)
    for one in (found.high_gbps, found.low_gbps, found.budget_gbit, found.refill_gbps):
        assert one is None or one.ci[0] <= one.value <= one.ci[1] < np.inf
    assert found.reasons
    assert what.action == "done" or 0 < what.seconds < 1e6


def test_a_chart_shows_levels_and_tokens_and_tells_them() -> None:
    trace = noisy(carried(bucket(), IDLE, 0.5))
    found = identify(trace, {})
    drawn = identified.figure("shape", "Shape", trace, found)
    assert drawn is not None
    spec = drawn.spec
    assert len(spec["concat"]) == 2
    assert vega_lite.rows(spec)
    kind, numbers = identified.caption(found)
    assert kind == message("a token bucket")
    names = [one.args["name"] for one in numbers.args["parts"] if "name" in one.args]
    assert names == ["high", "low", "budget", "refill"]
    assert args(numbers, "depleted after {time}")["time"].value == pytest.approx(
        1e9 * found.time_to_empty_s.value
    )
    assert args(numbers, "left at the")["left"].value == 1e9 * found.left_gbit.value
    steps = identify(noisy(flat(np.repeat([10.0, 4.0, 8.0], 300))), {})
    drawn = identified.figure("shape", "Shape", trace, steps)
    assert drawn is not None
    assert "concat" not in drawn.spec
