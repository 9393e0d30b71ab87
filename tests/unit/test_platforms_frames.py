"""Docker's frames: whole however they are cut, bounded whatever they claim."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.agent.client import LineBuffer
from tare.errors import AgentError
from tare.platforms.docker.frames import HEADER, STDERR, STDOUT, WORDS, Frames


def frame(stream: int, payload: bytes) -> bytes:
    return HEADER.pack(stream, len(payload)) + payload


def lines(frames: Frames) -> list[bytes]:
    return list(iter(frames.lines.line, None))


@given(
    st.lists(st.binary(max_size=20).filter(lambda b: b"\n" not in b), max_size=8),
    st.lists(st.integers(1, 7), min_size=1, max_size=20),
    st.integers(1, 9),
)
def test_lines_come_whole_however_the_stream_is_cut(
    sent: list[bytes], cuts: list[int], payload: int
) -> None:
    text = b"".join(line + b"\n" for line in sent)
    parts = [text[i : i + payload] for i in range(0, len(text), payload)]
    stream = b"".join(frame(STDOUT, part) + frame(STDERR, b"!") for part in parts)
    frames, at, turn = Frames(LineBuffer()), 0, 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        frames.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert lines(frames) == sent
    assert frames.words() == "!" * len(parts)


def test_a_claimed_length_costs_nothing() -> None:
    frames = Frames(LineBuffer())
    tracemalloc.start()
    frames.feed(HEADER.pack(STDERR, 0xFFFFFFFF) + b"x" * 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert frames.words() == "x" * 1000


def test_of_standard_error_the_end_is_kept() -> None:
    frames = Frames(LineBuffer())
    for _ in range(100):
        frames.feed(frame(STDERR, b"a" * 1000))
    frames.feed(frame(STDERR, b"the reason"))
    assert len(frames.words()) == WORDS
    assert frames.words().endswith("the reason")


def test_an_endless_line_is_refused() -> None:
    frames = Frames(LineBuffer())
    endless = frame(STDOUT, b"a" * 1000) * 2000
    with pytest.raises(AgentError, match="no record stream"):
        frames.feed(endless)


@pytest.mark.parametrize("header", [b"\x03\0\0\0\0\0\0\1", b"\1\1\0\0\0\0\0\1", b"HTTP/1.1"])
def test_what_is_no_frame_is_refused(header: bytes) -> None:
    with pytest.raises(AgentError, match="no frame"):
        Frames(LineBuffer()).feed(header + b"x")
