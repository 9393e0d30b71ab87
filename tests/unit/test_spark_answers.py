"""Spark's application: what compares its results finds planted mistakes, and lets ties be."""

from __future__ import annotations

import importlib.util
import json
import sys
import zlib
from pathlib import Path
from types import ModuleType

import pytest

import tare

LIBRARY = Path(tare.__file__).parent / "applications/library/spark"


def module(name: str) -> ModuleType:
    """Load a program of the application, which runs in its image."""
    spec = importlib.util.spec_from_file_location(name, LIBRARY / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = module("answers")
    monkeypatch.setitem(sys.modules, "answers", found)
    return found


KINDS = ["text", "exact", "double"]
EXPECTED = {
    "kinds": KINDS,
    "rows": [[None, "1.50", 0.5], ["a", "2.00", 2.0], ["b", "3.00", None], ["b", "4.00", 1e9]],
    "keys": [0],
    # LIMIT 4 cuts through the rows of b.
    "head": 2,
    "rest": [["b", "5.00", 7.0]],
}
#: As another engine has them: another order of ties, other digits.
SAME = [[None, "1.5", 0.5000001], ["a", 2, "2.000000"], ["b", "4.0", 1e9], ["b", "5", 7]]


def test_ties_other_digits_and_small_differences_are_equal(answers: ModuleType) -> None:
    assert answers.difference(EXPECTED, KINDS, EXPECTED["rows"]) is None
    assert answers.difference(EXPECTED, ["text", "exact", "exact"], SAME) is None


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (SAME[:3], "3 rows, not 4"),
        # A row twice in the place of another one of the same sort keys.
        ([*SAME[:3], SAME[2]], "a row of another answer"),
        ([SAME[1], SAME[0], *SAME[2:]], "row 1 is sorted by"),
        # Nulls are no values, and sort as they do.
        ([["", *SAME[0][1:]], *SAME[1:]], "row 1 is sorted by"),
        # A cent too much, and more than the tolerance.
        ([SAME[0], ["a", "2.01", 2.0], *SAME[2:]], "a row of another answer"),
        ([SAME[0], ["a", "2.00", 2.00001], *SAME[2:]], "a row of another answer"),
        ([SAME[0], ["a", "2.00", None], *SAME[2:]], "a row of another answer"),
        # Not among those that LIMIT may leave.
        ([*SAME[:3], ["b", "6.00", 7.0]], "a row of another answer"),
        ([*SAME[:3], ["c", "5.00", 7.0]], "row 4 is sorted by"),
    ],
)
def test_planted_mistakes_are_found(answers: ModuleType, rows: list[list], why: str) -> None:
    assert answers.difference(EXPECTED, KINDS, rows).startswith(why)


def test_another_number_of_columns_is_found(answers: ModuleType) -> None:
    assert answers.difference(EXPECTED, KINDS[:2], SAME) == "2 columns, not 3"


@pytest.mark.parametrize(
    ("order", "keys"),
    [
        ("b DESC NULLS FIRST, t.a", [1, 0]),
        ("2, 1 ASC", [1, 0]),
        ("a - b, 1", [["difference", 0, 1], 0]),
        ("case when grouping(x)+grouping(y) = 0\n then a end, b", [["if zero", 2, 0], 1]),
        # What is no column ends what is known of the order.
        ("a, sum(d), b", [0]),
    ],
)
def test_sort_keys_are_those_of_the_whole_query(
    answers: ModuleType, order: str, keys: list[object]
) -> None:
    query = f"SELECT * FROM (SELECT a, b FROM t ORDER BY c LIMIT 3) ORDER BY {order} LIMIT 100;"
    assert answers.sort_keys(query, ["a", "B", "lochierarchy"]) == keys


def test_duckdb_says_what_limit_cuts_off(answers: ModuleType) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "create table t as select * from (values (null, 1.50::decimal(7, 2)), (1, 2), (2, 3),"
        " (2, 4), (2, 5), (3, 6)) as t(a, b)"
    )
    got = answers.answer(connection, "select a, b from t order by a limit 4;")
    assert got["kinds"] == ["exact", "exact"]
    assert (got["keys"], got["head"]) == ([0], 2)
    # Nulls come first, as Spark has them.
    assert got["rows"][:2] == [[None, "1.50"], [1, "2.00"]]
    assert sorted(row[1] for row in got["rows"][2:] + got["rest"]) == ["3.00", "4.00", "5.00"]
    json.dumps(got)
    whole = answers.answer(connection, "select a, b from t order by a")
    assert (whole["head"], whole["rest"]) == (6, [])


def test_only_texts_between_double_quotes_are_written_otherwise_for_spark() -> None:
    dialect = module("dialect")
    assert dialect.spark(16, 'select 1 AS "order count";') == "select 1 AS `order count`"
    assert dialect.spark(1, 'select "x";') == 'select "x"'


def test_the_check_of_sorted_lines_finds_what_is_not_sorted_or_missing(
    answers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(LIBRARY)
    check = module("check")
    (tmp_path / "input").mkdir()
    (tmp_path / "input/part-0").write_bytes(b"c\na\n")
    (tmp_path / "input/part-1").write_bytes(b"b\n")

    def part(*lines: bytes) -> list[int]:
        return [len(lines), sum(n * zlib.crc32(line) for n, line in enumerate(lines, 1))]

    def why(*parts: list[int]) -> str | None:
        return check._unsorted(tmp_path, {"parts": parts})

    assert why(part(b"a", b"b"), part(b"c")) is None
    # Java's sums have 64 bits, with a sign.
    assert why([3, part(b"a", b"b", b"c")[1] - (1 << 64)]) is None
    assert why(part(b"b", b"a"), part(b"c")) == "part 0 is not sorted, or of other lines"
    assert why(part(b"c"), part(b"a", b"b")) == "part 0 is not sorted, or of other lines"
    assert why(part(b"a", b"b")) == "2 lines, not 3"
    assert check._alike([1.0, 2], [1.0 + 1e-12, 2])
    assert not check._alike([1.0, 2], [1.0 + 1e-6, 2])
    assert not check._alike(None, 2)
