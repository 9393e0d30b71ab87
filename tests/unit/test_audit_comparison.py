"""Which trials belong together, who is compared with whom, and in which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from said import template

from tare.errors import InputError
from tare.features.audit.comparison import ComparisonAudit, compare_series
from tare.features.audit.naming import named, varied
from tare.features.audit.pairing import match
from tare.features.audit.question import Question, Sizing
from tare.features.audit.series import SeriesAudit, audit_series, counted, trials_of
from tare.readers import ColumnOptions, Defect, Series, read
from tare.results.message import message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE, LOWER, Verdict


def audited(key: dict[str, str], values: np.ndarray, **more: object) -> SeriesAudit:
    fields = {"trial": np.arange(len(values)), "unit": "s", "lower_is_better": True, **more}
    series = Series(key=key, values=values, **fields)
    part = counted(series, Question())
    return audit_series((Path("f"),), part, key, named(key, list(key)), Question())


def trials(values: list[float], **more: list[float]) -> Series:
    arrays = {name: np.array(v) for name, v in more.items()}
    return Series(key={}, values=np.array(values, dtype=float), **arrays)


EIGHT = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def test_blocks_pair_trials_whatever_their_order() -> None:
    first = trials([*EIGHT, 100.0], block=[0, 1, 2, 3, 4, 5, 6, 7, 9])
    second = trials([v + 0.5 for v in reversed(EIGHT)], block=[7, 6, 5, 4, 3, 2, 1, 0])
    found = match(first, second)
    assert found.how == "by block"
    assert (found.second - found.first).tolist() == [0.5] * 8
    assert found.because[0] == message(
        "paired by block{% if left_out %}; {left_out | counted('block')} that only one has "
        "{% if left_out == 1 %}is{% else %}are{% endif %} left out{% endif %}",
        left_out=1,
    )


def test_blocks_with_names_pair_whatever_the_order_of_their_files(tmp_path: Path) -> None:
    names = ["mcf", "lbm", "gcc", "xz", "7", "1", "x264", "astar"]
    for file, order in (("a", names), ("b", [*reversed(names)])):
        rows = [f"{name},{1 + names.index(name)}" for name in order]
        (tmp_path / file).write_text("\n".join(["item,v", *rows]))
    first, second = (
        trials_of(read(tmp_path / name, ColumnOptions(value="v", block="item")).series[0])
        for name in "ab"
    )
    found = match(first, second)
    assert found.how == "by block"
    assert found.first.tolist() == found.second.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("last", ["9", "xz"])
def test_a_whole_number_is_that_number_however_it_is_written(tmp_path: Path, last: str) -> None:
    """As in a column of numbers alone, so beside a name: parts of one file are read apart."""
    for file, zeros in (("a", "0"), ("b", "")):
        rows = [*(f"{zeros}{i},{i}" for i in range(1, 9)), f"{last},9"]
        (tmp_path / file).write_text("\n".join(["item,v", *rows]))
    first, second = (
        trials_of(read(tmp_path / name, ColumnOptions(value="v", block="item")).series[0])
        for name in "ab"
    )
    found = match(first, second)
    assert found.how == "by block"
    assert found.first.tolist() == found.second.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("timed", [False, True])
def test_neighbours_are_those_in_time_and_not_by_name(timed: bool) -> None:
    rng, n = np.random.default_rng(1), 100
    walk = np.cumsum(rng.normal(size=n)) + 100
    names, place = rng.permutation(n), np.arange(n)
    rows = rng.permutation(n) if timed else place
    position = place[rows] if timed else None
    first = Series({}, walk[rows], block=names[rows], position=position)
    second = Series({}, np.full(n, 100.0)[rows], block=names[rows], position=position)
    found = match(first, second)
    assert found.first.tolist() == walk.tolist()
    assert found.dependence is not None
    assert found.dependence > 5


def test_too_few_common_blocks_do_not_pair() -> None:
    found = match(trials(EIGHT, block=range(8)), trials(EIGHT, block=range(5, 13)))
    assert not found.paired


def test_interleaved_trials_pair_with_their_neighbour_in_time() -> None:
    first = trials(EIGHT, position=[0, 3, 4, 7, 8, 11, 12, 15])
    second = trials(EIGHT, position=[1, 2, 5, 6, 9, 10, 13, 14])
    found = match(first, second)
    assert found.how == "by order"
    assert "look like a" not in [template(one) for one in found.because]


def test_a_fixed_order_inside_pairs_is_told() -> None:
    first = trials(EIGHT, position=list(range(0, 16, 2)))
    found = match(first, trials(EIGHT, position=list(range(1, 16, 2))))
    assert found.how == "by order"
    assert "look like a" in [template(one) for one in found.cautions]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (range(8), range(8, 16)),  # one after the other
        (range(8), range(8)),  # counted anew in each series
        ([0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]),  # two by two
    ],
)
def test_order_that_is_not_interleaved_does_not_pair(one: range, two: range) -> None:
    assert match(trials(EIGHT, position=one), trials(EIGHT, position=two)).how == "not"


def grouped(rng: np.random.Generator) -> list[SeriesAudit]:
    level = {"bare": 1.0, "docker": 1.1, "vm": 1.0}
    return [
        audited({"workers": w, "platform": p}, rng.normal(level[p], 0.01, 60))
        for w in ("1", "2")
        for p in level
    ]


def test_all_pairs_within_a_group_are_one_family() -> None:
    found = compare_series(grouped(np.random.default_rng(1)), ("platform",), Question())
    names = [(c.key["workers"], c.a, c.b) for c in found]
    inside = [("bare", "docker"), ("bare", "vm"), ("docker", "vm")]
    assert names == [(w, a, b) for w in ("1", "2") for a, b in inside]
    assert [c.verdict for c in found[:3]] == [HIGHER, EQUIVALENT, LOWER]
    slower = found[0].location
    assert slower is not None
    assert slower.ratio == pytest.approx(1.1, rel=0.01)
    assert slower.p_adjusted > slower.p
    assert found[0].mean == "lesser"  # the first's mean is
    assert found[2].mean == "higher"


def test_with_a_reference_all_others_are_compared_with_it_alone() -> None:
    some = grouped(np.random.default_rng(1))
    asked = Question(sizing=Sizing(reference="vm"))
    found = compare_series(some, ("platform",), asked)
    assert [(c.a, c.b) for c in found] == [("vm", "bare"), ("vm", "docker")] * 2
    with pytest.raises(InputError, match="no series is of 'nobody'"):
        compare_series(some, ("platform",), Question(sizing=Sizing(reference="nobody")))
    # Of several columns a level is what stands in the answers.
    asked = Question(sizing=Sizing(reference="1, bare"))
    found = compare_series(some, ("workers", "platform"), asked)
    assert {c.a for c in found} == {"1, bare"}


def test_levels_follow_their_first_appearance_in_every_group() -> None:
    rng = np.random.default_rng(2)
    some = [
        audited({"w": w, "p": p}, rng.normal(1, 0.01, 20))
        for w, order in (("1", "ab"), ("2", "ba"))
        for p in order
    ]
    assert [(c.a, c.b) for c in compare_series(some, ("p",), Question())] == [("a", "b")] * 2


def test_a_parameter_inside_a_command_does_not_keep_commands_apart() -> None:
    rng = np.random.default_rng(3)
    some = [audited({"command": f"sleep {d}", "delay": d}, rng.normal(1, 0.01, 20)) for d in "12"]
    assert len(compare_series(some, ("command",), Question())) == 1
    asked = Question(columns=ColumnOptions(group=("delay",)))
    with pytest.raises(InputError):
        compare_series(some, ("command",), asked)


@pytest.mark.parametrize(
    ("parameter", "other", "levels"), [("level", "size", "12"), ("size", "level", "19")]
)
def test_each_of_two_parameters_inside_a_command_is_compared(
    parameter: str, other: str, levels: str
) -> None:
    rng = np.random.default_rng(3)
    some = [
        audited({"command": f"pack -{x} {n}", "level": x, "size": n}, rng.normal(1, 0.01, 20))
        for x in "19"
        for n in "12"
    ]
    for columns in (ColumnOptions(), ColumnOptions(group=("level", "size"))):
        found = compare_series(some, (parameter,), Question(columns=columns))
        assert [c.key for c in found] == [{other: one} for one in levels]


def test_conditions_that_differ_with_the_compared_levels_are_kept_or_named() -> None:
    rng = np.random.default_rng(3)
    some = [
        audited({"lang": lang, "threads": n, "size": s}, rng.normal(1, 0.01, 20))
        for lang, s, n in (
            ("go", "s", "1"),
            ("go", "l", "2"),
            ("rust", "s", "4"),
            ("rust", "l", "8"),
        )
    ]
    with pytest.raises(InputError, match="differ in lang alone"):
        compare_series(some, ("lang",), Question())
    hosts = [audited({"version": v, "host": h}, rng.normal(1, 0.01, 20)) for v, h in ("1a", "2b")]
    (compared,) = compare_series(hosts, ("version",), Question())
    confounded = [one for one in compared.matched.cautions if template(one) == "be its effect"]
    assert [one.args for one in confounded] == [{"key": "host", "first": "a", "second": "b"}]


def test_series_of_one_level_are_not_compared() -> None:
    rng = np.random.default_rng(3)
    some = [audited({"v": v}, rng.normal(1, 0.01, 20)) for v in ("old", "old", "new")]
    found = compare_series(some, ("v",), Question())
    assert [(c.a, c.b) for c in found] == [("old", "new")] * 2


@pytest.mark.parametrize(("factor", "doubted"), [(1000, True), (1 / 1100, True), (400, False)])
def test_a_factor_of_1000_may_be_one_of_units(factor: float, doubted: bool) -> None:
    values = np.random.default_rng(3).normal(1, 0.01, 20)
    some = [
        audited({"v": level}, values, unit=None)
        for level, values in (("a", values), ("b", factor * values[::-1]))
    ]
    (compared,) = compare_series(some, ("v",), Question())
    assert (compared.unit_doubt is not None) == doubted
    known = [audited({"v": "a"}, values), audited({"v": "b"}, factor * values[::-1])]
    assert compare_series(known, ("v",), Question())[0].unit_doubt is None


def test_what_is_measured_differently_is_not_compared() -> None:
    rng = np.random.default_rng(4)
    some = [
        audited({"c": "a"}, rng.normal(1, 0.01, 20)),
        audited({"c": "b"}, rng.normal(1, 0.01, 20), unit="bytes", metric="memory"),
    ]
    with pytest.raises(InputError):
        compare_series(some, ("c",), Question())


def test_a_comparison_of_nothing_is_refused() -> None:
    some = [audited({"c": "a", "w": w}, np.ones(9) * int(w)) for w in "12"]
    with pytest.raises(InputError) as raised:
        compare_series(some, ("c",), Question())
    assert "--compare" in str(raised.value.hint)


@pytest.mark.parametrize(("low", "expected"), [(-3.0, HIGHER), (-9.0, INCONCLUSIVE)])
def test_values_without_a_ratio_have_a_verdict_on_their_difference(
    low: float, expected: Verdict
) -> None:
    rng = np.random.default_rng(5)
    some = [audited({"c": "a"}, rng.normal(-9, 0.1, 30), lower_is_better=None),
            audited({"c": "b"}, rng.normal(low, 0.1, 30), lower_is_better=None)]  # fmt: skip
    (found,) = compare_series(some, ("c",), Question())
    assert found.location is None
    assert found.verdict == expected


def test_a_key_that_no_series_has_is_refused_with_those_there_are() -> None:
    some = [audited({"command": "a"}, np.ones(9))]
    with pytest.raises(InputError) as raised:
        compare_series(some, ("platform",), Question())
    assert "command" in raised.value.message


@pytest.mark.parametrize(
    ("values", "more", "why"),
    [
        (np.zeros(20), {}, "zero"),
        (np.ones(20), {"defects": (Defect("corrupt", "Bad."),)}, "corrupt"),
        (np.empty(0), {}, "empty"),
    ],
)
def test_what_has_no_ratio_says_why(values: np.ndarray, more: dict[str, object], why: str) -> None:
    some = [audited({"c": "a"}, values, **more), audited({"c": "b"}, np.ones(20))]
    (found,) = compare_series(some, ("c",), Question())
    assert found.location is None
    assert found.refusal is not None
    assert (
        template(found.refusal)
        == {"corrupt": ": corrupt values", "empty": "a series has", "zero": "of zero or"}[why]
    )
    assert found.verdict == INCONCLUSIVE
    assert (found.difference is not None) == (why == "zero")


def test_what_has_no_ratio_has_a_difference() -> None:
    rng = np.random.default_rng(1)
    some = [
        audited({"c": c}, np.round(rng.normal(middle, 1, 60)))
        for c, middle in (("a", 1.0), ("b", 5.0))
    ]
    (found,) = compare_series(some, ("c",), Question())
    assert found.location is None
    assert found.difference is not None
    assert found.difference.low is not None
    assert 2 < found.difference.low < 4 < (found.difference.high or 0) < 6


@pytest.mark.parametrize(
    ("better", "word"), [(True, "slower"), (False, "faster"), (None, "higher")]
)
def test_verdicts_speak_of_what_was_measured(better: bool | None, word: str) -> None:
    rng = np.random.default_rng(1)
    some = [
        audited({"c": c}, rng.normal(middle, 0.01, 20), lower_is_better=better)
        for c, middle in (("a", 1), ("b", 2))
    ]
    (found,) = compare_series(some, ("c",), Question())
    assert (found.verdict, found.word) == (HIGHER, word)


def test_equal_groups_raise_few_alarms_together() -> None:
    rng = np.random.default_rng(8)

    def family() -> list[ComparisonAudit]:
        some = [audited({"g": g, "c": c}, rng.normal(1, 0.02, 20)) for g in "123" for c in "ab"]
        return compare_series(some, ("c",), Question())

    alarms = sum(
        any(c.location and c.location.p_adjusted < 0.05 for c in family()) for _ in range(40)
    )
    assert alarms <= 7  # of 40 at 5 %: more in less than one of two thousand


def test_names_hold_what_tells_series_apart_and_no_more() -> None:
    keys = [{"file": "x", "command": f"c {n}", "n": n} for n in "12"]
    assert varied(keys) == ["command"]
    assert named({"workers": "2", "platform": "vm"}, ["workers", "platform"]) == "workers 2 · vm"
