"""Tables of results: each operation against that of pandas, with absent keys among others."""

from __future__ import annotations

from typing import Any

import columns
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.experiment.results import empty, mean_by, typed
from tare.experiment.samples import NOTHING, Key, Samples
from tare.experiment.tables import TABLES
from tare.results.columns import Columns, column, is_in, objects

NUMBERS = st.sampled_from([1.5, -2.0, 0.0, float("nan")])
TEXTS = st.sampled_from(["a", "b", "", None])


@st.composite
def tables(draw: st.DrawFn) -> Columns:
    """Draw a table with numbers, of which some are absent, texts likewise, and whole numbers."""
    rows = draw(st.lists(st.tuples(NUMBERS, TEXTS, st.integers(0, 2)), max_size=12))
    number, text, whole = zip(*rows, strict=True) if rows else ((), (), ())
    return Columns({
        "number": np.array(number, dtype=float), "text": objects(text),
        "whole": np.array(whole, dtype=np.int64), "place": np.arange(len(rows)),
    })  # fmt: skip


KEYS = st.lists(st.sampled_from(["number", "text", "whole"]), min_size=1, max_size=3, unique=True)


def plain(value: Any) -> Any:
    """Return a key that equals itself: NaN becomes a text."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return "absent" if value is None or value != value else value


@given(tables(), KEYS)
@settings(max_examples=60, deadline=None)
def test_rows_are_sorted_as_pandas_sorts_them(table: Columns, names: list[str]) -> None:
    expected = table.frame().sort_values(names, kind="stable")["place"]
    assert table.sorted_by(*names)["place"].tolist() == expected.tolist()


@given(tables(), KEYS)
@settings(max_examples=60, deadline=None)
def test_groups_are_those_of_pandas(table: Columns, names: list[str]) -> None:
    grouped = table.frame().groupby(names, dropna=False, sort=True)
    expected = {plain(key): rows["place"].tolist() for key, rows in grouped}
    found = [(key, rows["place"].tolist()) for key, rows in table.groups(*names)]
    assert {plain(key if len(names) > 1 else (key,)): places for key, places in found} == expected
    # In the order of the sorted rows.
    order = table.sorted_by(*names)["place"].tolist()
    assert [places[0] for _, places in found] == [
        place for place in order if place in {places[0] for _, places in found}
    ]
    numbers = table.group_numbers(*names)
    assert [numbers[places].tolist() for _, places in found] == [
        [number] * len(places) for number, (_, places) in enumerate(found)
    ]


@given(tables(), tables(), st.sampled_from(["text", "whole"]))
@settings(max_examples=60, deadline=None)
def test_tables_are_joined_as_by_pandas(table: Columns, other: Columns, on: str) -> None:
    unique = columns.of_frame(other.frame().drop_duplicates(on).rename(columns={"place": "there"}))
    joined = table.joined(unique, on)
    right = unique.only(on, "there").frame()
    expected = table.frame().merge(right, on=on, how="inner").sort_values("place")
    assert joined["place"].tolist() == expected["place"].tolist()
    assert joined["there"].tolist() == expected["there"].tolist()
    # A column that both have is the first one's.
    assert plain(tuple(joined["number"])) == plain(tuple(table["number"][joined["place"]]))
    assert joined.names == (*table.names, "there")


@given(tables(), st.sampled_from(["a", None]), st.sampled_from([0, 1, 9]))
@settings(max_examples=60, deadline=None)
def test_rows_are_chosen_by_values(table: Columns, text: str | None, whole: int) -> None:
    frame = table.frame()
    texts = frame["text"].isna() if text is None else frame["text"] == text
    expected = frame[texts & (frame["whole"] == whole)]["place"].tolist()
    assert table.where(text=text, whole=whole)["place"].tolist() == expected
    members = frame[frame["whole"].isin([whole, 2])]["place"].tolist()
    assert table.where(whole={whole, 2})["place"].tolist() == members
    assert is_in(table["whole"], {whole, 2}).sum() == len(members)
    assert table.rows(table["whole"] == whole)["place"].tolist() == (
        frame[frame["whole"] == whole]["place"].tolist()
    )


@given(tables(), KEYS)
@settings(max_examples=60, deadline=None)
def test_means_of_combinations_are_those_of_pandas(table: Columns, names: list[str]) -> None:
    given_ = table.with_columns(value=table["place"] * 0.5)
    found = mean_by(given_, *names)
    expected = given_.frame().groupby(names, dropna=False)["value"].mean()
    assert found.names == (*names, "value")
    keys = [plain(tuple(row[name] for name in names)) for row in found.records()]
    known = {plain(key if isinstance(key, tuple) else (key,)): v for key, v in expected.items()}
    assert dict(zip(keys, found["value"].tolist(), strict=True)) == pytest.approx(known)
    assert len(keys) == len(known)


def test_columns_have_the_type_of_their_values() -> None:
    kinds = {
        "int64": [[1, 2]], "float64": [[1, 2.5], [1, None], [None, 0.5]], "bool": [[True, False]],
        "object": [["a"], [None], [], [1, "a"], [(1, 2), (3, 4)], [True, 1]],
    }  # fmt: skip
    for kind, some in kinds.items():
        assert {str(column(values).dtype) for values in some} == {kind}
    assert np.isnan(column([1, None])[1])
    assert objects([(1, 2), [3]]).tolist() == [(1, 2), [3]]
    with pytest.raises(ValueError, match="differ in length"):
        Columns({"a": [1], "b": [1, 2]})


def test_rows_are_records_of_python_s_own_values() -> None:
    table = Columns.of_rows(["a", "b", "c"], [(1, 0.5, None), (2, None, "x")])
    first, second = table.records()
    assert first == {"a": 1, "b": 0.5, "c": None}
    assert [type(value) for value in (*first.values(), second["c"])] == [
        int,
        float,
        type(None),
        str,
    ]
    assert not Columns.of_rows(["a"], [])
    assert table.distinct("a") == [1, 2]
    assert table.reduced("a", "b", len) == {1: 1, 2: 1}
    assert "b" in table
    assert table.only("c").names == ("c",)


def test_tables_without_rows_have_their_types() -> None:
    for name, table in TABLES.items():
        made = empty(name)
        assert not made
        assert [*made.names][: len(table.names)] == table.names
        for one in table.columns:
            assert made[one.name].dtype == typed(one.type, ()).dtype
    assert np.isnan(typed("BIGINT", [1, None])[1])
    assert typed("JSON", [[1], None]).tolist() == [[1], None]


def frame_of_samples() -> pd.DataFrame:
    rows = [
        (trial, worker, iteration, phase, metric, source, float(100 * trial + 10 * iteration))
        for trial in (1, 2, 3)
        for worker in (0, 1)
        for iteration, phase in ((0, "warmup"), (1, "measured"), (2, "measured"))
        for metric, source in (("wall_ns", "self"), ("wall_ns", "around"), ("cpu_ns", "cgroup"))
        if (trial, metric) != (2, "cpu_ns")
    ]
    names = ["trial", "worker", "iteration", "phase", "metric", "source", "value"]
    whole = [(trial, None, None, "measured", "steal_ns", "stat", 1.0) for trial in (1, 2)]
    return pd.DataFrame([*rows, *whole], columns=names).sort_values("trial", kind="stable")


def test_samples_are_apart_by_metric_source_and_phase() -> None:
    frame = frame_of_samples()
    samples = columns.samples(frame)
    for key, rows in frame.groupby(["metric", "source", "phase"]):
        assert samples.of(*key)["value"].tolist() == rows["value"].tolist()
        assert samples.of(*key)["trial"].tolist() == rows["trial"].tolist()
    assert samples.sources("wall_ns") == ["around", "self"]
    assert samples.sources("memory_bytes") == []
    assert samples.metrics == ["cpu_ns", "steal_ns", "wall_ns"]
    assert not samples.of("wall_ns", "self", "tail")
    assert np.isnan(samples.of("steal_ns", "stat")["worker"]).all()
    # The table has the rows in their order of time.
    pd.testing.assert_frame_equal(
        samples.table().frame(), frame.reset_index(drop=True), check_dtype=False
    )


def test_some_trials_samples_and_a_replaced_part() -> None:
    frame = frame_of_samples()
    samples = columns.samples(frame).of_trials({2})
    assert set(samples.table()["trial"]) == {2}
    assert samples.metrics == ["steal_ns", "wall_ns"]
    changed = samples.with_part(Key("cpu_ns", "self"), samples.of("wall_ns", "self"))
    assert changed.sources("cpu_ns") == ["self"]
    assert len(changed.table()) == len(samples.table()) + 4
    nothing = Samples({Key("wall_ns", "self"): NOTHING})
    assert len(nothing.table()) == 0
    assert nothing.table().names == samples.table().names


def test_the_value_of_a_trial_is_the_mean_of_its_measured_samples() -> None:
    frame = frame_of_samples()
    means = mean_by(columns.samples(frame).of("wall_ns", "self"), "trial", "worker")
    measured = frame[
        (frame["metric"] == "wall_ns")
        & (frame["source"] == "self")
        & (frame["phase"] == "measured")
    ]
    expected = measured.groupby(["trial", "worker"])["value"].mean()
    assert means["value"].tolist() == expected.tolist()
    assert [*zip(means["trial"], means["worker"], strict=True)] == [*expected.index]
