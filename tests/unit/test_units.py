"""Numbers with their units, as people write and read them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare import units

GBIT = 10**9


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10ms", 0.01),
        ("1.5 s", 1.5),
        ("4 min", 240),
        ("250us", 250e-6),
        ("7 µs", 7e-6),
        ("2w", 2 * 604_800),
        ("90d", 90 * 86_400),
        ("4 min 10 s", 250),
        ("1h30min", 5400),
        ("1,500 s", 1500),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert units.seconds(text) == seconds
    assert units.nanoseconds(text) == round(10**9 * seconds)


@given(st.integers(1, 10**6), st.sampled_from(sorted(units.TIMES)))
def test_times_are_read_exactly(number: int, unit: str) -> None:
    read = units.seconds(f"{number} {unit}", most=10**12)
    assert math.isclose(read, number * float(units.TIMES[unit]), rel_tol=1e-15)


@pytest.mark.parametrize(
    "text",
    ["5", "", "s", "-1s", "1 parsec", "1,5 s", "nan s", "inf s", "1e3 s", "9" * 41 + "s", "٣ s",
     "3 min 2 min", "2 s 3 min", "3 min 2", "3 min -2 s", "0,500 s", "1,50 s", "4000d"],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(units.QuantityError) as caught:
        units.seconds(text)
    assert units.seconds(caught.value.example) >= 0


def test_times_have_their_limits() -> None:
    with pytest.raises(units.QuantityError) as caught:
        units.seconds("5 ms", least=0.02)
    assert units.seconds(caught.value.example, least=0.02) == 0.02
    with pytest.raises(units.QuantityError):
        units.nanoseconds("0s")


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("200Mbit", 200_000_000),
        ("2 Gbit/s", 2 * GBIT),
        ("2.5gbit", 2_500_000_000),
        ("10Gbps", 10 * GBIT),
        ("100MB/s", 800_000_000),
        ("1MiB/s", 8 << 20),
        ("0bit", 0),
    ],
)
def test_rates_are_read(text: str, bps: int) -> None:
    assert units.rate(text) == bps


@pytest.mark.parametrize(
    ("text", "bits"),
    [("5400Gbit", 5400 * GBIT), ("1MB", 8_000_000), ("12.5 GB", 100 * GBIT), ("1GiB", 8 << 30)],
)
def test_amounts_are_read(text: str, bits: int) -> None:
    assert units.bits(text) == bits
    assert units.size(text) == bits // 8


def test_a_part_of_a_byte_takes_a_whole_one() -> None:
    assert units.size("9bit") == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2GB", "an amount of bytes"),
        ("2Gb", "bits to some and bytes to others"),
        ("2mbps", "bits to some and bytes to others"),
        ("-2Gbit", "negative"),
        ("2", "no unit"),
        ("2,5Gbit", "comma"),
        ("fast", "a number"),
        ("2Gbit/min", "no known unit"),
        ("2parsec", "no known unit"),
        ("10000000000Gbit", "64 bits"),
        ("9" * 26 + "bit", "64 bits"),
        ("9" * 50 + "bit", "a number"),
        ("٣Gbit", "a number"),
    ],
)
def test_what_is_no_rate_is_refused_with_one_that_is(text: str, why: str) -> None:
    with pytest.raises(units.QuantityError) as caught:
        units.rate(text)
    assert why in caught.value.why
    assert units.rate(caught.value.example)


@pytest.mark.parametrize("text", ["10Gbit/s", "10Gbps", "1MB/s"])
def test_a_rate_is_no_amount(text: str) -> None:
    with pytest.raises(units.QuantityError) as caught:
        units.bits(text)
    assert units.bits(caught.value.example)


@given(st.integers(0, units.parsing.MOST_BITS))
def test_what_is_written_is_read_back(bits: int) -> None:
    assert units.bits(units.typed_bits(bits)) == bits
    assert units.rate(units.typed_bits(bits)) == bits


@given(st.integers(1, 10**17))
def test_what_people_read_is_read_back_to_its_digits(bits: int) -> None:
    for unit, parse in (("bits/s", units.rate), ("bits", units.bits)):
        assert parse(units.chosen(bits, unit)) == pytest.approx(bits, rel=1e-5, abs=0.5)
        assert parse(units.quantity(bits, unit)) == pytest.approx(bits, rel=0.005, abs=0.5)


@given(st.integers(0, 2**50))
def test_sizes_that_were_chosen_are_read_back(size: int) -> None:
    assert units.size(units.chosen(size, "bytes", 20)) == size
    assert units.size(units.quantity(size, "bytes")) == pytest.approx(size, abs=0.005 * size + 1)


@given(st.floats(1, 10**15))
def test_rates_of_bytes_are_read_as_they_are_written(per_second: float) -> None:
    read = units.rate(units.quantity(per_second, "B/s"))
    assert read == pytest.approx(8 * per_second, rel=0.005, abs=0.5)


@given(st.floats(1e-9, 10 * 366 * 86_400 / 1.1))
def test_times_are_read_as_they_are_written(seconds: float) -> None:
    # A wait has its two largest units, the smaller of them whole.
    assert units.seconds(units.duration(seconds)) == pytest.approx(seconds, rel=0.05)
    for text in (units.quantity(seconds, "s"), units.quantity(1e9 * seconds, "ns")):
        assert units.seconds(text) == pytest.approx(seconds, rel=0.005)
    assert units.seconds(units.chosen(seconds, "s")) == pytest.approx(seconds, rel=1e-5)


@given(st.floats(1e-5, 0.99))
def test_shares_are_read_as_they_are_written(share: float) -> None:
    # Small ones have two decimals of a per cent.
    assert units.share(units.percent(share)) == pytest.approx(share, rel=0.06, abs=5e-5)
    assert units.share(units.chosen(share)) == pytest.approx(share, rel=1e-5)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("5 %", 0.05), ("0.05", 0.05)])
def test_shares_are_read(text: str, share: float) -> None:
    assert units.share(text) == share


@pytest.mark.parametrize("text", ["200", "200%", "95", "100", "0"])
def test_the_hint_of_a_share_is_one(text: str) -> None:
    with pytest.raises(units.QuantityError) as refused:
        units.share(text, example="90%")
    assert 0 < units.share(refused.value.example) < 1


@pytest.mark.parametrize("text", ["0", "0%", "5", "1", "100%", "-5%", "5 ms", "%", "much"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(units.QuantityError):
        units.share(text)


@pytest.mark.parametrize(
    ("text", "probability", "name"),
    [
        ("p99", 0.99, "p99"),
        ("99%", 0.99, "p99"),
        ("0.99", 0.99, "p99"),
        ("p99.9", 0.999, "p99.9"),
        ("median", 0.5, "median"),
        ("p50", 0.5, "median"),
        ("100%", 1.0, "p100"),
    ],
)
def test_quantiles_are_read_and_named(text: str, probability: float, name: str) -> None:
    assert units.quantile(text) == probability
    assert units.quantile_name(probability) == name


@pytest.mark.parametrize("text", ["99", "p", "101%", "p-1", "most", ""])
def test_what_is_no_quantile_is_refused(text: str) -> None:
    with pytest.raises(units.QuantityError):
        units.quantile(text)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    parsers: tuple[Callable[[str], float], ...] = (
        units.seconds, units.nanoseconds, units.rate, units.bits, units.size, units.share,
        units.quantile, units.count,
    )  # fmt: skip
    for parse in parsers:
        found = _refused(parse, text)
        assert found is None or parse(found.example) >= 0


def _refused(parse: Callable[[str], float], text: str) -> units.QuantityError | None:
    try:
        parse(text)
    except units.QuantityError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.031e8, "ns", "203 ms"),
        (1.5e9, "ns", "1.50 s"),
        (999.0, "ns", "999 ns"),
        (-2.5e3, "ns", "−2.50 µs"),
        (0.0, "ns", "0 ns"),
        (0.2418, "s", "242 ms"),
        (2.5e-9, "s", "2.50 ns"),
        (90, "s", "90.0 s"),
        (4 * 2.0**20, "bytes", "4.00 MiB"),
        (1.996e9, "bits/s", "2.00 Gbit/s"),
        (4.395e12, "bits", "4,400 Gbit"),
        (0.5, "1", "0.500"),
        (2.5, "hz", "2.50 Hz"),
        (2.5e6, "requests/s", "2.50 million requests/s"),
        (None, "ns", "unknown"),
        (float("nan"), "s", "none"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


@given(st.floats(1e-6, 1e12))
def test_three_digits_are_right_to_half_a_per_cent(value: float) -> None:
    assert float(units.significant(value).replace(",", "")) == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.02, "share", "2 %"),
        (600e6, "bits/s", "600 Mbit/s"),
        (1.5e9, "bytes", "1.5 GB"),
        (1536, "bytes", "1.5 KiB"),
        (128 * 1024, "bytes", "128 KiB"),
        (1_000_000, "bytes", "1 MB"),
        (1_000_003, "bytes", "1,000,003 bytes"),
        (0.25, "s", "250 ms"),
    ],
)
def test_what_somebody_chose_has_no_digits_of_its_own(value: float, unit: str, text: str) -> None:
    assert units.chosen(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0032, "3.2 ms"), (3.2, "3.2 s"), (85, "85 s"), (250, "4 min 10 s"), (600, "10 min"),
        (7200, "2 h"), (9000, "2 h 30 min"), (50_000, "14 h"), (3 * 86_400, "3 d"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


def test_values_that_stand_together_have_one_unit_and_as_many_decimals() -> None:
    assert units.amounts("ns", [1.2e6, 13.4e6]) == ["1.2 ms", "13.4 ms"]
    assert units.interval("ns", 41.23e6, 39.8e6, 43e6) == "41.2 ms [39.8, 43.0]"
    assert units.span("ns", 40.12e6, 40.31e6) == "40.12 – 40.31 ms"


def test_changes() -> None:
    assert units.change(1.031) == "+3.1 %"
    assert units.change(0.5) == "× 0.500"
    assert units.change_interval(1.03, 1.02, 1.04) == "+3.0 % [+2.0, +4.0]"
    assert units.change_interval(1.9, 1.2, 2.4) == "× 1.90 [1.20, 2.40]"
    assert units.change_interval(1.21, 1.0002, 1.21) == "+21.00 % [+0.02, +21.00]"
    assert units.change_interval(0.5, 0.4998, 0.5001) == "× 0.5000 [0.4998, 0.5001]"
    assert units.change_interval(1.9, None, None) == "+90 % (no interval)"
    # What rounds to zero has no sign.
    assert units.change_interval(0.99999, 0.7, 1.3) == "0 % [−30, +30]"
    assert units.change(1 - 1e-9) == "0.0000 %"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0005, "0.05 %"), (0.000012, "0.0012 %"), (0.0312, "3.1 %"), (0.312, "31 %")],
)
def test_percentages(share: float, text: str) -> None:
    assert units.percent(share) == text


def test_counts() -> None:
    assert units.counted(1, "trial") == "1 trial"
    assert units.counted(1200, "trial") == "1,200 trials"


@given(st.integers(1, 10**12))
def test_counts_are_read_as_they_are_written(n: int) -> None:
    assert units.count(units.counted(n, "trial").split()[0]) == units.count(f"{n}") == n


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "1,00", "many", "3 x", ""])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(units.QuantityError) as caught:
        units.count(text)
    assert units.count(caught.value.example) >= 1


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([*units.LADDERS, "1"]))
def test_any_number_is_written(value: float, unit: str) -> None:
    for text in (
        units.quantity(value, unit), units.chosen(value, unit), units.amount(unit, value),
        units.significant(value), units.percent(value),
    ):  # fmt: skip
        assert any(digit in text for digit in "0123456789") or "inf" in text


@pytest.mark.parametrize(
    ("n", "told"),
    [(1, "1 trial"), (99, "99 trials"), (688, "690 trials"), (16_599, "17,000 trials")],
)
def test_an_estimated_number_has_two_digits(n: int, told: str) -> None:
    assert units.about(n, "trial") == told


@pytest.mark.parametrize(
    ("other", "ratio", "low", "high", "unlike"),
    [
        (1.0310, 1.0302, 1.0200, 1.0449, False),
        (1.0310, 1.0332, 1.0200, 1.0449, False),
        (1.0385, 1.0401, 1.0386, 1.0416, False),
        (1.0450, 1.0401, 1.0386, 1.0416, True),
        (1.033, 1.0302, 1.0, 1.3, False),
        # +0.3 % is next to −0.6 % [−12.2, +1.2], but ±0 % is not opposite to +0.4 %.
        (1.003, 0.994, 0.878, 1.012, True),
        (1.0, 1.004, 0.99, 1.018, False),
        (3.44, 3.45, 3.1, 3.9, False),
        (3.6, 3.45, 3.1, 3.9, False),
        (4.2, 3.45, 3.1, 3.9, True),
        (1.2, 1.03, None, None, True),
        (1.0301, 1.03, None, None, False),
        (15.9, 15.0, None, None, False),
        (0.97, 1.03, None, None, True),
    ],
)
def test_a_ratio_outside_the_interval_or_of_the_other_sign_contradicts_it(
    other: float, ratio: float, low: float | None, high: float | None, unlike: bool
) -> None:
    assert units.contradicts(other, ratio, low, high) == unlike
