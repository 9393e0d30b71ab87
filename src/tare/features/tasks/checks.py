"""Whether what a program wrote is what was expected; pure."""

from __future__ import annotations

import math

from tare.features.tasks.specification import MOST_OUTPUT_BYTES, TaskSet
from tare.results.message import Message, message

_DIFFERS_TEXT = "line {line}: “{got}” instead of “{expected}”"

#: Shown of a word that differs.
MOST_SHOWN = 40
_PIECE = 1 << 16


def capture_bytes(expected_bytes: int) -> int:
    """Return how much of an output is wanted: one that is longer than that is wrong."""
    # Words may be spaced otherwise; beyond what agents keep, one that was cut would look whole.
    return min(2 * expected_bytes + (64 << 10), MOST_OUTPUT_BYTES)


def difference(output: bytes, expected: bytes, asked: TaskSet) -> Message | None:
    """Return the first difference between an output and what was expected; None: it is correct."""
    if output == expected:
        return None
    if asked.compare == "exact":
        return _first_byte(output, expected)
    got, wanted = output.split(), expected.split()
    for place, (own, other) in enumerate(zip(got, wanted, strict=False)):
        if own != other and not (asked.compare == "numeric" and _near(own, other, asked.tolerance)):
            return message(
                _DIFFERS_TEXT,
                line=_line_of(output, place),
                expected=_shown(other),
                got=_shown(own),
            )
    if len(got) == len(wanted):
        return None
    return message("{words | counted('word')} instead of {of}", words=len(got), of=len(wanted))


def _near(own: bytes, other: bytes, tolerance: float) -> bool:
    """Tell whether two words are numbers that differ by no more than the tolerance."""
    if b"_" in own + other:
        return False  # between digits it is Python's alone
    try:
        got, wanted = float(own), float(other)
    except ValueError:
        return False
    # Of what is no number, or beyond all of them, only the same word is the same.
    if not (math.isfinite(got) and math.isfinite(wanted)):
        return False
    return abs(got - wanted) <= tolerance * max(1.0, abs(wanted))


def _first_byte(output: bytes, expected: bytes) -> Message:
    both = min(len(output), len(expected))
    # By pieces first: bytes of some MiB one by one take seconds.
    pieces = range(0, both, _PIECE)
    at = next((i for i in pieces if output[i : i + _PIECE] != expected[i : i + _PIECE]), both)
    at = next((i for i in range(at, min(at + _PIECE, both)) if output[i] != expected[i]), both)
    if at == both and len(output) != len(expected):
        return message(
            "{bytes | counted('byte')} instead of {of}", bytes=len(output), of=len(expected)
        )
    return message(
        _DIFFERS_TEXT,
        line=output.count(b"\n", 0, at) + 1,
        expected=_shown(expected[at : at + MOST_SHOWN]),
        got=_shown(output[at : at + MOST_SHOWN]),
    )


def _line_of(output: bytes, place: int) -> int:
    """Return the line of a word, from 1."""
    before = 0
    for number, line in enumerate(output.split(b"\n"), 1):
        before += len(line.split())
        if before > place:
            return number
    return output.count(b"\n") + 1


def _shown(word: bytes) -> str:
    text = word[:MOST_SHOWN].decode(errors="replace")
    return text if len(word) <= MOST_SHOWN else f"{text}…"
