"""Tables of text: aligned, folded or stacked, and never wider than the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.render.terminal import aligned, fitted

ROWS = [
    ("check", "verdict", "why"),
    ("steal", "warn", "the hypervisor takes two per cent of the CPU time from this machine"),
    ("turbo", "ok", "off"),
]


def test_a_table_with_room_is_aligned() -> None:
    assert fitted(ROWS, 200, left=3) == aligned(ROWS, 3)
    numbers = aligned([("name", "n"), ("a", "1,000"), ("long", "2")], 1)
    assert numbers == ["name      n", "a     1,000", "long      2"]


def test_a_long_last_column_is_broken() -> None:
    lines = fitted(ROWS, 44, left=3)
    assert max(map(len, lines)) <= 44
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "check", "steal", "turbo",
    ]  # fmt: skip
    words = " ".join(line[16:] for line in lines[1:-1])
    assert words.split() == ROWS[1][2].split()


def test_a_table_of_numbers_without_room_has_each_row_by_itself() -> None:
    lines = fitted([("name", "median", ""), ("sort", "1.2 ms", "slower")], 16, left=1)
    assert lines == ["sort  slower", "    median 1.2", "    ms"]


@pytest.mark.parametrize("left", [1, 3])
@given(
    cells=st.lists(st.tuples(*[st.text("ab c", max_size=40)] * 3), min_size=1, max_size=4),
    width=st.integers(20, 90),
)
def test_no_line_is_wider_and_no_word_is_lost(
    left: int, cells: list[tuple[str, str, str]], width: int
) -> None:
    lines = fitted([("x", "y", "z"), *cells], width, left)
    assert max(map(len, lines)) <= width
    shown = "".join("".join(lines).split())
    for cell in (cell for row in cells for cell in row):
        assert set("".join(cell.split())) <= set(shown)
