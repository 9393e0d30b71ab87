"""Outputs and what was expected: what is the same, and where the first difference is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.features.tasks.checks import capture_bytes, difference
from tare.features.tasks.specification import MOST_EXPECTED_BYTES, Compare, TaskSet
from tare.render.words import text


def asked(compare: Compare, tolerance: float = 1e-6) -> TaskSet:
    return TaskSet(files=("x",), expected="*", compare=compare, tolerance=tolerance)


def is_same(output: str, expected: str, compare: Compare) -> bool:
    return difference(output.encode(), expected.encode(), asked(compare)) is None


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        # exact, whitespace, numeric
        ("1 2\n", "1 2\n", (True, True, True)),
        ("1 2", "1 2\n", (False, True, True)),
        ("1\n\n2  \n", "1 2", (False, True, True)),
        ("1.0", "1", (False, False, True)),
        ("1.0000001", "1", (False, False, True)),
        ("1.00001", "1", (False, False, False)),
        ("1e6", "1000000.5", (False, False, True)),
        ("0.0000001", "0", (False, False, True)),
        ("nan", "NaN", (False, False, False)),
        ("nan", "nan", (True, True, True)),
        ("inf", "1e999", (False, False, False)),
        ("1 2 3", "1 2", (False, False, False)),
        ("1", "1 2", (False, False, False)),
        ("", "1", (False, False, False)),
        ("", "\n", (False, True, True)),
        ("yes", "no", (False, False, False)),
        ("1_0", "10", (False, False, False)),
    ],
)
def test_what_is_the_same(output: str, expected: str, same: tuple[bool, bool, bool]) -> None:
    modes: tuple[Compare, ...] = ("exact", "whitespace", "numeric")
    assert tuple(is_same(output, expected, mode) for mode in modes) == same


@pytest.mark.parametrize(
    ("output", "expected", "compare", "said"),
    [
        ("1\n2\n4\n", "1\n2\n3\n", "whitespace", "line 3: “4” instead of “3”"),
        ("\n\n7 8", "7 9", "whitespace", "line 3: “8” instead of “9”"),
        ("1 2 3", "1 2", "whitespace", "3 words instead of 2"),
        ("1", "1 2", "numeric", "1 word instead of 2"),
        ("a\nb\n", "a\nb", "exact", "4 bytes instead of 3"),
        ("a\nbx", "a\ncx", "exact", "line 2: “bx” instead of “cx”"),
    ],
)
def test_the_first_difference_is_said(
    output: str, expected: str, compare: Compare, said: str
) -> None:
    found = difference(output.encode(), expected.encode(), asked(compare))
    assert found is not None
    assert text(found) == said


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_bytes_differ_where_they_do(output: bytes, expected: bytes) -> None:
    found = difference(output, expected, asked("exact"))
    assert (found is None) == (output == expected)


def test_the_difference_of_a_long_output_is_found_beyond_its_pieces() -> None:
    expected = b"x" * 1_000_000 + b"\ny"
    found = difference(b"x" * 1_000_000 + b"\nz", expected, asked("exact"))
    assert found is not None
    assert found.args["line"] == 2


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.floats(min_value=1e-12, max_value=0.5),
    st.floats(min_value=-3, max_value=3),
)
def test_the_tolerance_is_relative_above_one_and_absolute_below(
    wanted: float, tolerance: float, off: float
) -> None:
    got = wanted + off * tolerance * max(1.0, abs(wanted))
    if not math.isfinite(got):
        return
    within = abs(got - wanted) <= tolerance * max(1.0, abs(wanted))
    found = difference(repr(got).encode(), repr(wanted).encode(), asked("numeric", tolerance))
    assert (found is None) == within


def test_enough_of_an_output_is_wanted_to_be_spaced_otherwise() -> None:
    assert capture_bytes(0) > 0
    assert capture_bytes(10 << 20) >= 20 << 20
    # What agents keep of a stream; see TRIAL_LIMIT in agent/measure/trial/src/capture.rs.
    assert capture_bytes(1 << 40) < 64 << 20
    assert capture_bytes(MOST_EXPECTED_BYTES) > 2 * MOST_EXPECTED_BYTES
