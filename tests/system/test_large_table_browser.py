"""A large table in a real browser: which rows are shown after filters, sorting and reloading."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import chromium
import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import large_tables
from large_tables import HOSTILE

from tare.render import files
from tare.render.large_table import LargeColumn, LargeTable, lay

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(chromium.binary() is None, reason="Chromium is not installed"),
]
ROWS = 50_000
LOOKS = {"correct": "good", "wrong": "wrong", "timeout": "limit", "killed": "crash"}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Give the rows in the order of the table: those that differ first."""
    draw = np.random.default_rng(5)
    table = pd.DataFrame({"task": [f"set/Task_{i}.c" for i in draw.permutation(ROWS)]})
    table["a"] = draw.choice([*LOOKS, None], ROWS, p=[0.6, 0.2, 0.1, 0.05, 0.05])
    table["b"] = np.where(draw.random(ROWS) < 0.1, "wrong", table["a"])
    table["cpu"] = np.round(draw.lognormal(19, 2, ROWS))
    table.loc[draw.random(ROWS) < 0.1, "cpu"] = np.nan
    table["memory"] = draw.integers(1, 500, ROWS) * 1_048_576.0
    table["differs"] = table["a"].notna() & table["b"].notna() & (table["a"] != table["b"])
    return table.sort_values("differs", ascending=False, kind="stable", ignore_index=True)


def made(rows: pd.DataFrame) -> LargeTable:
    return LargeTable(
        "tasks",
        "All tasks",
        (
            LargeColumn("task", "task", "text", rows["task"]),
            LargeColumn("a", "result", "choice", rows["a"], group="first", looks=LOOKS),
            LargeColumn("cpu", "CPU time", "number", rows["cpu"], unit="ns", group="first"),
            LargeColumn("b", "result", "choice", rows["b"], group="second", looks=LOOKS),
            LargeColumn("memory", "memory", "number", rows["memory"], unit="bytes", group="second"),
        ),
        differing=(("a", "b"),),
        only_differing=True,
    )


@pytest.fixture(scope="module")
def page(rows, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    shuffled = rows.sample(frac=1, random_state=1).sort_index()
    return files.write(large_tables.report(), folder / "page.html", {"tasks": made(shuffled)})[0]


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser() as opened:
        yield opened


class Shown:
    """The table of an open page, as a person uses it."""

    def __init__(self, browser: chromium.Browser) -> None:
        self.browser = browser
        self.ask = browser.ask

    def filter(self, column: int, typed: str) -> None:
        self.ask(
            f"""(() => {{
              const input = document.querySelectorAll("[data-filter]")[{column}];
              input.value = {json.dumps(typed)};
              input.dispatchEvent(new Event("input", {{ bubbles: true }}));
            }})()"""
        )

    def click(self, selector: str, place: int = 0) -> None:
        self.ask(f"document.querySelectorAll('{selector}')[{place}].click()")

    @property
    def count(self) -> str:
        return self.ask("document.querySelector('[data-shown]').textContent")

    @property
    def tasks(self) -> list[str]:
        """All rows that pass, in order, by what would be copied."""
        return [row[0] for row in self.copied[1:]]

    @property
    def copied(self) -> list[list[str]]:
        self.ask(
            """(() => {
              window.text = null;
              navigator.clipboard.writeText = async (text) => { window.text = text; };
              document.querySelector("[data-copy]").click();
            })()"""
        )
        self.browser.wait("window.text !== null")
        return [*csv.reader(io.StringIO(self.ask("window.text")))]

    @property
    def visible(self) -> list[list[str]]:
        """The cells of the rows that are in sight, below the heading."""
        return self.ask(
            """(() => {
              const box = document.querySelector(".large .table").getBoundingClientRect();
              const top = document.querySelector(".large thead").getBoundingClientRect().bottom;
              const inside = (row) => {
                const { top: first, bottom: last } = row.getBoundingClientRect();
                return first >= top - 1 && last <= box.bottom + 1;
              };
              return [...document.querySelectorAll(".large tbody tr:not(.gap)")].filter(inside)
                .map(row => [...row.cells].map(cell => cell.textContent));
            })()"""
        )


@pytest.fixture
def table(browser, page) -> Shown:
    """Open the page, and have it show all rows."""
    shown = opened(browser, page)
    shown.click("[data-clear]")
    return shown


def opened(browser: chromium.Browser, page: Path, hash: str = "") -> Shown:
    browser.call("Page.navigate", url="about:blank")
    browser.call("Emulation.setDeviceMetricsOverride",
                 width=1280, height=900, deviceScaleFactor=1, mobile=False)  # fmt: skip
    browser.call("Page.navigate", url=page.resolve().as_uri() + hash)
    browser.wait("performance.getEntriesByName('large-table-painted').length > 0")
    return Shown(browser)


def test_only_rows_that_differ_are_shown_first(browser, page, rows):
    shown = opened(browser, page)
    differing = rows[rows["differs"]]
    assert shown.count == f"{len(differing):,} of 50,000 rows"
    assert shown.tasks == [*differing["task"]]
    shown.click("[data-differ]")
    assert shown.tasks == [*rows["task"]]


CASES = {
    "text": ({0: "TASK_12"}, lambda r: r["task"].str.contains("Task_12", regex=False)),
    "text excluded": ({0: "!_1"}, lambda r: ~r["task"].str.contains("_1", regex=False)),
    "text is no pattern": ({0: ".*"}, lambda r: r["task"] == ""),
    "choice": ({1: "is:wrong"}, lambda r: r["a"] == "wrong"),
    "all but a choice": ({1: "not:correct"}, lambda r: r["a"] != "correct"),
    "unknown choices": ({1: "unknown"}, lambda r: r["a"].isna()),
    "known choices": ({1: "known"}, lambda r: r["a"].notna()),
    "above, in the column's unit": ({2: ">0.5"}, lambda r: r["cpu"] > 5e5),
    "above, with a unit": ({2: ">0.5 s"}, lambda r: r["cpu"] > 5e8),
    "below": ({2: "<10 ms"}, lambda r: r["cpu"] < 1e7),
    "at most": ({4: "<=100MiB"}, lambda r: r["memory"] <= 100 * 2**20),
    "at least": ({4: "≥ 0.25 gib"}, lambda r: r["memory"] >= 2**28),
    "range with one unit": ({2: "1..2 s"}, lambda r: r["cpu"].between(1e9, 2e9)),
    "range with the unit first": ({2: "1s..2"}, lambda r: r["cpu"].between(1e9, 2e9)),
    "range with two": ({2: "500 µs..1.5s"}, lambda r: r["cpu"].between(5e5, 1.5e9)),
    "range in the column's unit": ({2: "1,000..2,000"}, lambda r: r["cpu"].between(1e9, 2e9)),
    "as shown": ({4: "100"}, lambda r: (r["memory"] / 2**20 - 100).abs() <= 0.05),
    "no number": ({2: "fast"}, lambda r: r["task"] != ""),
    "no such unit": ({2: "> 5 parsecs"}, lambda r: r["task"] != ""),
    "all together": (
        {0: "!9", 1: "is:correct", 2: ">1 ms", 3: "not:wrong", 4: "<300"},
        lambda r: (
            ~r["task"].str.contains("9") & (r["a"] == "correct") & (r["cpu"] > 1e6)
            & (r["b"] != "wrong") & (r["memory"] < 300 * 2**20)
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_filters_show_the_rows_that_pass_in_order(table, rows, case):
    typed, passing = CASES[case]
    for column, text in typed.items():
        table.filter(column, text)
    expected = rows[passing(rows)]["task"]
    assert table.tasks == [*expected]
    assert table.count == f"{len(expected):,} of 50,000 rows"
    visible = [row[0] for row in table.visible]
    shown = [*expected[: len(visible)]] or ["No row passes these filters."]
    assert visible == shown


def test_a_filter_that_is_none_is_marked(table):
    invalid = "document.querySelectorAll('[data-filter]')[2].getAttribute('aria-invalid')"
    for typed, marked in (("fast", "true"), ("> 5 parsecs", "true"), (">5", "false")):
        table.filter(2, typed)
        assert table.ask(invalid) == marked


def test_each_choice_has_the_count_of_rows_that_it_would_show(table, rows):
    table.filter(1, "is:wrong")
    table.filter(4, ">100")
    options = "[...document.querySelectorAll('[data-filter]')[{}].options].map(o => o.textContent)"
    memory = rows[rows["memory"] > 100 * 2**20]
    own = memory["a"].value_counts()
    found = table.ask(options.format(1))
    assert found[0] == f"all ({len(memory):,})"
    assert found[1:5] == [f"{one} ({own[one]:,})" for one in LOOKS]
    assert found[5] == f"– ({memory['a'].isna().sum():,})"
    assert found[7] == f"not wrong ({len(memory) - own['wrong']:,})"
    other = memory[memory["a"] == "wrong"]["b"].value_counts()
    assert table.ask(options.format(3))[1:5] == [f"{one} ({other.get(one, 0):,})" for one in LOOKS]


@pytest.mark.parametrize(("place", "key"), [(2, "cpu"), (4, "memory"), (1, "a"), (0, "task")])
def test_a_heading_sorts_and_reverses_with_unknown_values_last(table, rows, place, key):
    orders = {
        "a": lambda v: v.map([*LOOKS].index, na_action="ignore"),
        "task": lambda v: v.str.extract(r"(\d+)")[0].astype(int),
    }
    order = orders.get(key)
    head = f"document.querySelectorAll('[data-sort]')[{place}].closest('th')"
    for ascending, word in ((True, "ascending"), (False, "descending")):
        table.click("[data-sort]", place)
        expected = rows.sort_values(
            key, ascending=ascending, kind="stable", na_position="last", key=order
        )
        assert table.tasks == [*expected["task"]]
        assert table.ask(f"{head}.getAttribute('aria-sort')") == word


def test_rows_that_are_equal_stay_in_the_order_before(table, rows):
    table.click("[data-sort]", 2)
    table.click("[data-sort]", 1)
    ranks = rows["a"].map([*LOOKS].index, na_action="ignore")
    expected = rows.assign(a=ranks).sort_values(["a", "cpu"], kind="stable")
    assert table.tasks == [*expected["task"]]


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_scrolling_shows_the_rows_of_that_place_and_few_are_in_the_page(table, rows, share):
    table.ask(
        "(() => { const b = document.querySelector('.large .table');"
        f" b.scrollTop = (b.scrollHeight - b.clientHeight) * {share}; }})()"
    )
    table.browser.wait(
        f"document.querySelector('.large tbody tr:not(.gap)').ariaRowIndex > {int(share * 49_000)}"
    )
    visible = [row[0] for row in table.visible]
    assert len(visible) > 10
    start = [*rows["task"]].index(visible[0])
    assert start == pytest.approx(share * (ROWS - len(visible)), abs=3)
    assert visible == [*rows["task"][start : start + len(visible)]]
    assert table.ask("document.querySelectorAll('.large tbody tr').length") < 120


@pytest.mark.parametrize("left", [0, 200])
def test_names_of_groups_stand_above_what_is_in_sight_of_them(table, left):
    table.browser.call("Emulation.setDeviceMetricsOverride",
                       width=700, height=900, deviceScaleFactor=1, mobile=False)  # fmt: skip
    table.ask(f"document.querySelector('.large .table').scrollLeft = {left}")
    edge = "[...document.querySelectorAll('{}')][1].getBoundingClientRect().{}"
    name = table.ask(edge.format(".large .groups span", "left"))
    column = table.ask(edge.format(".large [data-sort]", "left"))
    fixed = "document.querySelector('.large thead th').getBoundingClientRect().right"
    assert name == pytest.approx(max(column, table.ask(fixed) + 14), abs=4)


def test_the_address_has_what_is_chosen_and_restores_it(table, page, rows):
    table.filter(0, "!7 & #=%")
    table.filter(2, "1..2 s")
    table.filter(3, "not:timeout")
    table.click("[data-sort]", 4)
    table.click("[data-sort]", 4)
    table.click("[data-differ]")
    table.browser.wait("location.hash.includes('memory')")
    before, hash = table.copied, table.ask("location.hash")
    again = opened(table.browser, page, hash)
    assert again.copied == before
    assert again.ask("document.querySelectorAll('[data-filter]')[0].value") == "!7 & #=%"
    again.click("[data-clear]")
    again.browser.wait("!location.hash.includes('memory')")
    again = opened(table.browser, page, again.ask("location.hash"))
    assert again.tasks == [*rows["task"]], "that rows are not to differ is chosen too"


def test_a_link_within_the_page_changes_no_filter(table, page):
    table.filter(0, "_49999.")
    before = table.tasks
    table.ask("location.hash = '#behind'")
    table.browser.wait("location.hash === '#behind'")
    assert table.tasks == before
    table.ask("location.hash = '#tasks.task=_123.&tasks.-differ=0'")
    table.browser.wait("document.querySelector('[data-filter]').value === '_123.'")
    assert table.tasks == ["set/Task_123.c"]


def test_an_address_of_nothing_that_is_there_is_no_error(browser, page, rows):
    browser.complaints.clear()
    shown = opened(
        browser, page, "#behind&tasks.x=1&tasks.-sort=x,-y&tasks.a=is:nothing&tasks.cpu=%"
    )
    assert shown.tasks == [*rows[rows["differs"]]["task"]]
    assert browser.complaints == []


def test_what_is_copied_has_headings_units_and_all_digits(table, rows):
    table.filter(0, "task_1")
    head, *lines = table.copied
    assert head == ["task", "first: result", "first: CPU time [ms]", "second: result",
                    "second: memory [MiB]"]  # fmt: skip
    expected = rows[rows["task"].str.contains("Task_1")]
    assert [line[1] for line in lines] == [*expected["a"].fillna("")]
    cpu = [float(line[2]) if line[2] else np.nan for line in lines]
    np.testing.assert_allclose(cpu, expected["cpu"] / 1e6, rtol=1e-11)


def test_keys_reach_filters_and_headings(table, rows):
    press = table.browser.call
    table.ask("document.querySelectorAll('[data-sort]')[0].focus()")
    for kind in ("keyDown", "keyUp"):
        press("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
              windowsVirtualKeyCode=13)  # fmt: skip
    assert table.tasks[:3] == ["set/Task_0.c", "set/Task_1.c", "set/Task_2.c"]
    for _ in range(5):
        for kind in ("keyDown", "keyUp"):
            press("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                  windowsVirtualKeyCode=9)  # fmt: skip
    press("Input.insertText", text="_4999.")
    assert table.tasks == ["set/Task_4999.c"]


def test_numbers_are_written_as_python_writes_them(browser, tmp_path):
    draw = np.random.default_rng(2)
    columns = []
    for place, (unit, size) in enumerate(
        [("ns", 1e2), ("ns", 1e5), ("s", 1.0), ("bytes", 1e6), ("share", 0.1), ("1", 1.0),
         ("1", 1e-5), ("1", 1e6), ("bits/s", 1e9)]
    ):  # fmt: skip
        values = size * draw.lognormal(0, 4, 100) * draw.choice([-1, 1], 100)
        columns.append(LargeColumn(f"c{place}", "x", "number", values, unit=unit))
    halves = [*(k + 0.5 for k in range(100, 149)), *(-k - 0.5 for k in range(100, 149)), 0.0, None]
    columns.append(LargeColumn("halves", "x", "number", halves))
    # Quarters end in exact halves of tenths.
    columns.append(LargeColumn("quarters", "x", "number", [k / 4 + 11 for k in range(100)]))
    made = LargeTable("numbers", "Numbers", tuple(columns))
    (page,) = files.write(large_tables.report(), tmp_path / "numbers.html", {"tasks": made})
    shown = opened(browser, page)
    shown.ask("dispatchEvent(new Event('beforeprint'))")
    cells = shown.ask(
        "[...document.querySelectorAll('.large tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert cells == [[text for text, _ in row] for row in lay(made).rows]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (700, "dark"), (390, "light")])
def test_nothing_hostile_runs_and_rows_keep_their_height(browser, tmp_path, width, scheme):
    columns = (
        LargeColumn("a", HOSTILE[0], "text", HOSTILE * 20, group=HOSTILE[1]),
        LargeColumn("b", HOSTILE[1], "choice", HOSTILE * 20, looks={HOSTILE[0]: "good"}),
        LargeColumn("c", HOSTILE[2], "choice", HOSTILE[::-1] * 20, group=HOSTILE[2]),
        LargeColumn("d", HOSTILE[3], "number", [1e9] * 180, unit="ns"),
    )
    made = LargeTable("bad", HOSTILE[1], columns, differing=(("b", "c"),), note=HOSTILE[0])
    (page,) = files.write(large_tables.report(), tmp_path / "hostile.html", {"tasks": made})
    browser.requests.clear()
    browser.complaints.clear()
    browser.show(page, width, 900, scheme=scheme)
    shown = Shown(browser)
    for typed in ("<img", "</script>", ""):
        shown.filter(0, typed)
    assert sorted(shown.tasks) == sorted(HOSTILE * 20)
    shown.filter(1, f"is:{HOSTILE[6]}")
    assert shown.tasks == [HOSTILE[6]] * 20
    shown.filter(1, "")
    assert shown.ask("typeof pwned") == "undefined"
    assert browser.complaints == []
    assert {one.split("#")[0] for one in browser.requests} == {page.resolve().as_uri()}
    heights = "[...new Set([...document.querySelectorAll('.large tbody tr:not(.gap)')].map({}))]"
    assert len(shown.ask(heights.format("r => r.getBoundingClientRect().height"))) == 1
    assert shown.ask("document.documentElement.scrollWidth") <= width


def test_paper_has_the_first_rows_that_pass(table, rows, tmp_path):
    table.filter(1, "is:wrong")
    table.ask("dispatchEvent(new Event('beforeprint'))")
    shown = "[...document.querySelectorAll('.large tbody tr')].map(r => r.cells[0].textContent)"
    wrong = [*rows[rows["a"] == "wrong"]["task"]]
    assert table.ask(shown) == wrong[:100]
    table.ask("dispatchEvent(new Event('afterprint'))")
    assert [row[0] for row in table.visible][:5] == wrong[:5]
    table.browser.call("Emulation.setEmulatedMedia", media="print")
    display = "getComputedStyle(document.querySelector('.large .{}')).display"
    assert table.ask(display.format("tools")) == "none"
    assert table.ask(display.format("paper")) == "block"
    table.browser.call("Emulation.setEmulatedMedia", media="")
    table.browser.paper(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_without_scripts_the_first_rows_are_there(browser, page, rows):
    browser.call("Page.navigate", url="about:blank")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=page.resolve().as_uri())
        browser.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        shown = browser.ask(
            "[...document.querySelectorAll('.large tbody tr')].map(r => r.cells[0].textContent)"
        )
        words = browser.ask("document.querySelector('.large').innerText")
        tools = browser.ask("getComputedStyle(document.querySelector('.large .tools')).display")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert shown == [*rows["task"][:100]]
    assert "Without scripts, this table shows the first 100 of 50,000 rows." in words
    assert tools == "none"
