"""What intervals show, and what it is called."""

from __future__ import annotations

import pytest

from tare.render.vocabulary import RATES, SPREADS, TIMES, VALUES, Words
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
    Verdict,
    judge,
)


@pytest.mark.parametrize(
    ("low", "high", "different", "margin", "verdict"),
    [
        (1.03, 1.05, True, 0.02, HIGHER),
        (1.005, 1.04, True, 0.02, HIGHER),
        (1.005, 1.015, True, 0.02, HIGHER_WITHIN),
        (0.95, 0.97, True, 0.02, LOWER),
        (0.985, 0.995, True, 0.02, LOWER_WITHIN),
        (0.99, 1.01, False, 0.02, EQUIVALENT),
        (0.99, 1.03, False, 0.02, INCONCLUSIVE),
        (0.97, 1.03, False, 0.02, INCONCLUSIVE),
        (1.03, 1.05, False, 0.02, INCONCLUSIVE),
        (1.005, 1.015, False, 0.02, EQUIVALENT),
        (None, None, False, 0.02, INCONCLUSIVE),
        (1.2, 2.0, True, 0.5, HIGHER),
        (1.1, 1.4, True, 0.5, HIGHER_WITHIN),
        (0.7, 0.9, True, 0.5, LOWER_WITHIN),
        (1.1, 1.4, False, 0.5, EQUIVALENT),
        (0.3, 0.6, True, 0.5, LOWER),
        (0.8, 1.6, False, 0.5, INCONCLUSIVE),
    ],
)
def test_intervals_are_judged(
    low: float | None, high: float | None, different: bool, margin: float, verdict: Verdict
) -> None:
    assert judge(low, high, margin, different=different) == verdict


@pytest.mark.parametrize(
    ("words", "verdict", "word"),
    [
        (TIMES, HIGHER, "slower"),
        (RATES, HIGHER, "faster"),
        (VALUES, LOWER, "lower"),
        (TIMES, HIGHER_WITHIN, "slower (within 2 %)"),
        (TIMES, EQUIVALENT, "equivalent (within 2 %)"),
        (SPREADS, EQUIVALENT, "equally stable (within 2 %)"),
        (SPREADS, INCONCLUSIVE, "inconclusive"),
    ],
)
def test_verdicts_have_one_word_each(words: Words, verdict: Verdict, word: str) -> None:
    assert words.of(verdict, "2 %") == word
    assert words.of(verdict) == word.removesuffix(" (within 2 %)")
