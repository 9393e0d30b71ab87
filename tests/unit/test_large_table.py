"""Large tables: what is in the page, for scripts and without them."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import large_tables
import numpy as np
import pytest
from large_tables import HOSTILE

from tare.render import files, html
from tare.render.large_table import LargeColumn, LargeTable, lay
from tare.render.tables import lay as lay_small
from tare.results.finding import Column, Table
from tare.units import nanoseconds, size


class Page(HTMLParser):
    """Elements of a page, its scripts, and the rows of its large table."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.rows: list[list[str]] = []
        self._inside: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self._inside.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "tr" and "tbody" in self._inside:
            self.rows.append([])
        if tag == "td" and "tbody" in self._inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self._inside and self._inside[-1] == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        elif "td" in self._inside and "tbody" in self._inside:
            self.rows[-1][-1] += data

    @property
    def data(self) -> dict:
        (found,) = (text for attrs, text in self.scripts if "data-rows" in attrs)
        return json.loads(found)


def page_of(*columns: LargeColumn, **options: object) -> Page:
    return Page(html.render(large_tables.report(), {"tasks": table_of(*columns, **options)}))


def table_of(*columns: LargeColumn, **options: object) -> LargeTable:
    return LargeTable("t", "title", columns, **options)


def test_all_values_are_in_the_page_once():
    names = [f"task {i}" for i in range(300)]
    results = ["wrong" if i % 3 else "correct" for i in range(300)]
    times = [i * 1_234_567.0 for i in range(300)]
    document = html.render(
        large_tables.report(),
        {
            "tasks": table_of(
                LargeColumn("name", "task", "text", names),
                LargeColumn("result", "result", "choice", results),
                LargeColumn("time", "time", "number", np.array(times), unit="ns"),
            )
        },
    )
    name, result, time = Page(document).data["columns"]
    assert name["values"] == names
    assert [result["choices"][code] for code in result["codes"]] == results
    assert time["values"] == times
    assert document.count('"task 299"') == 1
    assert "1,234,567.0" not in document


@pytest.mark.parametrize("none", [None, math.nan])
@pytest.mark.parametrize("make", [list, lambda v: np.array(v, object)])
def test_unknown_values_are_null_and_never_zero(none, make):
    page = page_of(
        LargeColumn("name", "task", "text", make(["a", none])),
        LargeColumn("result", "result", "choice", make([none, "b"])),
        LargeColumn("time", "time", "number", [none, 1.5] if none is None else [math.nan, 1.5]),
    )
    name, result, time = page.data["columns"]
    assert name["values"] == ["a", None]
    assert result["codes"] == [-1, 0]
    assert time["values"] == [None, 1.5]
    assert page.rows == [["a", "–", "–"], ["–", "b", "1.50"]]


def test_infinity_is_no_number():
    page = page_of(LargeColumn("time", "time", "number", [math.inf, -math.inf, 2.0]))
    assert page.data["columns"][0]["values"] == [None, None, 2]


def test_choices_with_an_unknown_one():
    values = ["b", "a", None, "b"]
    assert page_of(LargeColumn("x", "x", "choice", values)).data["columns"][0]["codes"] == [
        1, 0, -1, 1,
    ]  # fmt: skip


def test_whole_numbers_of_which_one_is_missing():
    values = [2**53 - 1, None, 3]
    data = page_of(LargeColumn("x", "x", "number", values)).data["columns"][0]
    assert data["values"] == [2**53 - 1, None, 3]
    assert data["places"] == 0


def test_a_table_without_rows_or_known_values():
    assert page_of(LargeColumn("x", "x", "number", [])).rows == []
    page = page_of(LargeColumn("x", "x", "number", [None]), LargeColumn("y", "y", "choice", [None]))
    assert page.rows == [["–", "–"]]


def test_nothing_hostile_is_obeyed():
    plain = page_of(LargeColumn("x", "x", "text", ["a"]))
    page = page_of(
        LargeColumn("a", HOSTILE[0], "text", HOSTILE, group=HOSTILE[1]),
        LargeColumn("b", HOSTILE[1], "choice", HOSTILE, group=HOSTILE[2]),
        LargeColumn("c", HOSTILE[2], "choice", HOSTILE[::-1], looks={HOSTILE[0]: "good"}),
        differing=(("b", "c"),),
        note=HOSTILE[0],
    )
    assert page.handlers == []
    assert "img" not in page.tags
    assert "svg" not in page.tags
    assert page.tags.count("script") == plain.tags.count("script")
    # All of them are there, as they are.
    a, b, _ = page.data["columns"]
    assert sorted(a["values"]) == sorted(HOSTILE)
    assert set(b["choices"]) == set(HOSTILE)
    assert {row[0] for row in page.rows} == set(HOSTILE)


def test_orders_to_terminals_and_turned_text_are_written_out():
    page = page_of(LargeColumn("x", "x", "text", ["a\u202eb\x1b[2J"]))
    assert page.data["columns"][0]["values"] == ["a\\u202eb\\x1b[2J"]
    assert page.rows == [["a\\u202eb\\x1b[2J"]]


def test_only_scripts_with_a_digest_in_the_policy_are_there():
    document = html.render(
        large_tables.report(), {"tasks": table_of(LargeColumn("x", "x", "text", ["a"]))}
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', document)[1]
    code = [text for attrs, text in Page(document).scripts if "type" not in attrs]
    assert len(code) == 3
    for text in code:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy.replace("&#39;", "'")
    assert "'unsafe-eval'" not in policy
    assert "default-src 'none'" in policy.replace("&#39;", "'")


def test_a_page_without_a_large_table_has_nothing_of_it():
    document = html.render(large_tables.report())
    assert "large" not in document.replace("largeArc", "").split("<script>")[0]
    assert len([attrs for attrs, _ in Page(document).scripts if "type" not in attrs]) == 2


def test_a_table_needs_its_finding():
    with pytest.raises(AssertionError, match="without a section"):
        html.render(large_tables.report(), {"x": table_of(LargeColumn("x", "x", "text", ["a"]))})


def test_without_scripts_the_first_rows_are_there():
    values = [f"task_{i:06d}" for i in range(50_000)]
    document = html.render(
        large_tables.report(), {"tasks": table_of(LargeColumn("x", "x", "text", values))}
    )
    assert Page(document).rows == [[one] for one in values[:100]]
    assert "Without scripts, this table shows the first 100 of 50,000 rows." in document
    small = html.render(
        large_tables.report(), {"tasks": table_of(LargeColumn("x", "x", "text", values[:100]))}
    )
    assert "this table shows" not in small


def test_rows_that_differ_stand_first():
    page = page_of(
        LargeColumn("task", "task", "text", ["a", "b", "c", "d", "e"]),
        LargeColumn("x", "result", "choice", ["ok", "ok", None, "bad", None]),
        LargeColumn("y", "result", "choice", ["ok", "bad", "ok", "ok", None]),
        differing=(("x", "y"),),
        only_differing=True,
    )
    assert [row[0] for row in page.rows] == ["b", "d", "a", "c", "e"]
    assert page.data["differing"] == 2, "a value that is not known differs from none"
    assert page.data["onlyDiffering"]


def test_columns_differ_from_those_that_they_are_compared_with():
    results = {"p": "AB", "q": "BB", "r": "AB", "s": "BA"}
    page = page_of(
        LargeColumn("task", "task", "text", ["a", "b"]),
        *(LargeColumn(name, "result", "choice", [*some]) for name, some in results.items()),
        differing=(("p", "r"), ("q", "s")),
    )
    assert page.data["differing"] == 1


def test_choices_stand_in_the_order_of_their_looks():
    looks = {"correct": "good", "done": "good", "wrong": "wrong"}
    laid = lay(
        table_of(LargeColumn("x", "x", "choice", ["a", "wrong", "correct", "A"], looks=looks))
    )
    assert laid.heads[0].choices == ("correct", "wrong", "A", "a")
    assert [row[0] for row in laid.rows] == [
        ("a", ""), ("wrong", "wrong"), ("correct", "good"), ("A", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["ns", "s", "bytes", "share", "1", "bits/s"])
@pytest.mark.parametrize("magnitude", [1e-6, 1.0, 1e3, 1e7, 1e10])
def test_numbers_are_written_as_in_other_tables(unit, magnitude):
    draw = np.random.default_rng(1)
    values = [None, 0.0, *(magnitude * draw.lognormal(0, 3, 60))]
    page = page_of(LargeColumn("x", "x", "number", values, unit=unit))
    small = lay_small(
        Table.of("t", [Column(key="x", title="x", unit=unit)], [(v,) for v in values])
    )
    assert [tuple(row) for row in page.rows] == list(small.rows)
    assert page.data["columns"][0]["unit"] == small.heads[0].unit


def test_filters_read_the_units_that_options_read():
    page = page_of(
        LargeColumn("a", "a", "number", [1], unit="ns"),
        LargeColumn("b", "b", "number", [1], unit="s"),
        LargeColumn("c", "c", "number", [1], unit="bytes"),
        LargeColumn("d", "d", "number", [1], unit="share"),
    )
    ns, s, memory, share = (column["units"] for column in page.data["columns"])
    for unit in ("ns", "us", "µs", "ms", "s", "min", "h"):
        assert ns[unit] == nanoseconds(f"1{unit}")
        assert s[unit] * 1e9 == pytest.approx(ns[unit])
    for unit in ("bytes", "kB", "MB", "KiB", "MiB", "GiB"):
        assert memory[unit] == size(f"1{unit}")
    assert share == {"%": 0.01}


def test_groups_of_columns_have_a_heading():
    columns = [
        LargeColumn(id_, id_, "text", ["x"], group=group)
        for id_, group in (("a", None), ("b", "g"), ("c", "g"), ("d", "h"))
    ]
    laid = lay(table_of(*columns))
    assert laid.groups == [("", 1), ("g", 2), ("h", 1)]
    assert [head.first for head in laid.heads] == [False, True, False, True]
    assert [column["name"] for column in laid.data["columns"]] == ["a", "g: b", "g: c", "h: d"]
    assert lay(table_of(columns[0])).groups == []


@pytest.mark.parametrize(
    ("columns", "options", "why"),
    [
        ([("a", "text", "x"), ("a", "text", "x")], {}, "same id"),
        ([("a b", "text", "x")], {}, "no id"),
        ([("a", "text", "x"), ("b", "text", "xy")], {}, "one length"),
        ([("a", "text", "x")], {"differing": (("a",),)}, "choices"),
        ([("a", "choice", "x")], {"differing": (("b",),)}, "choices"),
    ],
)
def test_what_is_no_table(columns, options, why):
    made = (LargeColumn(id_, id_, kind, list(values)) for id_, kind, values in columns)
    with pytest.raises(ValueError, match=why):
        table_of(*made, **options)


def test_a_saved_report_is_as_small_as_without(tmp_path):
    table = table_of(LargeColumn("x", "x", "text", ["a" * 100] * 50_000))
    (saved,) = files.write(large_tables.report(), tmp_path / "r.json", {"tasks": table})
    assert saved.stat().st_size < 10_000
    (page,) = files.write(large_tables.report(), tmp_path / "r.html", {"tasks": table})
    assert page.stat().st_size > 5_000_000


def test_columns_of_one_heading_have_one_unit() -> None:
    """What stands next to each other is compared: 900 µs and 2 s are 0.0009 and 2 there."""
    columns = tuple(
        LargeColumn(f"time_{i}", "time", "number", values, "ns", group=f"side {i}")
        for i, values in enumerate([[9e5, 8e5], [2e9, 3e9]])
    )
    laid = lay(LargeTable("t", "T", columns))
    assert len({head.unit for head in laid.heads}) == 1
    other = LargeColumn("other", "memory", "number", [9e5, 8e5], "ns")
    laid = lay(LargeTable("t", "T", (*columns, other)))
    assert len({head.unit for head in laid.heads}) == 2
