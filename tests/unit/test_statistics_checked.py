"""Statistics of what callers give: a right result, or an error that says what to do."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import pkgutil
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tare import statistics as package
from tare.errors import InputError, TareError, ValuesError
from tare.statistics import checked, comparison, confirm, intervals
from tare.statistics.comparison import compare, compare_unpaired
from tare.statistics.intervals import quantile_interval, range_interval
from tare.statistics.spread import compare_spread

GUIDE = Path(__file__).parents[2] / "docs" / "reference" / "library.md"
#: Arguments without a default that are no values.
_REQUIRED: Mapping[str, Any] = {
    "precision": 0.01, "trials_known": True, "lags": 2, "tolerance": 0.1, "anytime": False,
    "quantile": 0.5, "qs": [0.5, 0.9], "seed": 1, "confidence": 0.95, "q": 0.5,
    "factors": {"parity": [i % 2 for i in range(40)]}, "blocks": list(range(40)), "host_cores": 64,
}  # fmt: skip
#: Their results state absence as NaN: an interval of some prefixes, a p-value.
_ABSENT_AS_NAN = {"confirm.prefixes", "pair_ratios.pair_ratio"}
#: Fewer resamples than usual: no property depends on how many they are.
_LIGHT = {"resamples": 199}


def _entrances() -> dict[str, Callable[..., Any]]:
    """Find all functions that say that they take what is like an array."""
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name == "checked":
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        for name, one in vars(loaded).items():
            if inspect.isfunction(one) and one.__module__ == loaded.__name__:
                annotations = one.__annotations__.values()
                if any("ArrayLike" in str(a) for a in annotations) and not name.startswith("_"):
                    found[f"{module.name}.{name}"] = one
    return found


ENTRANCES = _entrances()


def _arrays(function: Callable[..., Any]) -> list[str]:
    return [n for n, a in function.__annotations__.items() if "ArrayLike" in str(a)]


def call(function: Callable[..., Any], *values: Any) -> Any:
    """Call a function with values, and with what else it needs."""
    parameters = inspect.signature(function).parameters
    if "pairs" in parameters:
        return function([values])
    arrays = dict(zip(_arrays(function), itertools.cycle(values), strict=False))
    others = {
        name: _REQUIRED[name]
        for name, one in parameters.items()
        if name not in arrays and one.default is inspect.Parameter.empty
    }
    light = {name: value for name, value in _LIGHT.items() if name in parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(**arrays, **others, **light)


def numbers(value: Any) -> list[float]:
    """Return all floats of a result."""
    if isinstance(value, (float, np.floating)):
        return [float(value)]
    if isinstance(value, np.ndarray):
        return [] if value.dtype.kind != "f" else value.ravel().tolist()
    if isinstance(value, (list, tuple)):
        return [x for one in value for x in numbers(one)]
    if isinstance(value, dict):
        return numbers(list(value.values()))
    if getattr(value, "refusal", None) is not None:
        return []  # says why there is no number
    fields = getattr(value, "__dataclass_fields__", None) or {}
    return [x for name in fields for x in numbers(getattr(value, name))]


_FLOATS = st.one_of(
    st.floats(-1e100, 1e100).filter(lambda x: abs(x) > 1e-100) | st.just(math.nan),
    st.floats(0.5, 2.0),
    st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, -1.0, 1e100, 1e-100, math.inf, -math.inf]),
)
_PLAIN = st.floats(0.5, 2.0) | st.integers(1, 5).map(float)
_ODD = st.sampled_from(
    [
        [], [1.0], 1.0, None, "abc", ["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [1.0, [2.0]],
        [True, False, True], [1 + 2j, 2.0], [None, 1.0], {"a": 1}, object(), [object()] * 8,
        np.array([1, 2, 3], dtype=object), np.array(["2026-01-01"], dtype="M8[D]"),
        np.zeros((0, 3)), np.array(5.0), [10**400, 1], b"bytes", [b"a"], range(1, 9),
        np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]),
        np.arange(1, 9, dtype=np.uint8), np.arange(1.0, 9, dtype=np.float16),
    ]
)  # fmt: skip
_VALUES = st.one_of(
    st.lists(_PLAIN, max_size=40), st.lists(_FLOATS, max_size=12), _ODD,
    st.lists(_PLAIN, min_size=8, max_size=40).map(np.array),
)  # fmt: skip


@pytest.mark.parametrize("name", ENTRANCES)
@settings(
    max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None,
    derandomize=True,
)  # fmt: skip
@given(first=_VALUES, second=_VALUES, alike=st.booleans())
@example(first=[1.0, 2.0] * 10, second=[1.0, 2.0] * 9 + [1.0], alike=False)
@example(first=[1.0, float("nan")] * 10, second=[1.0, 2.0] * 10, alike=False)
@example(first=[1.0] * 20, second=[1.0] * 20, alike=False)
@example(first=[0.0] * 20, second=[0.0] * 20, alike=False)
@example(first=[-1.0, 1.0] * 10, second=[1.0] * 20, alike=False)
def test_values_have_a_result_or_an_error_that_says_why(
    name: str, first: Any, second: Any, *, alike: bool
) -> None:
    if alike:
        second = first
    try:
        found = call(ENTRANCES[name], first, second)
    except TareError as error:
        found = error
    if isinstance(found, TareError):
        assert found.message
        assert found.hint
    elif name not in _ABSENT_AS_NAN:
        assert not any(math.isnan(x) for x in numbers(found)), found


@pytest.mark.parametrize("name", ENTRANCES)
def test_lists_and_integers_give_what_arrays_give(name: str) -> None:
    function = ENTRANCES[name]
    first = [7, 3, 9, 4, 12, 8, 5, 6, 11, 10] * 4
    second = [x + 1 + i % 3 for i, x in enumerate(first)]
    lists = call(function, first, second)
    arrays = call(function, np.array(first, dtype=float), np.array(second, dtype=float))
    assert numbers(lists) == numbers(arrays)


def test_values_are_not_changed() -> None:
    for function in ENTRANCES.values():
        first, second = np.arange(40, 0, -1.0), np.arange(1, 41.0)
        first.flags.writeable = second.flags.writeable = False
        call(function, first, second)


def test_the_guide_names_no_function_that_takes_unchecked_values() -> None:
    """Functions of no values, of messages or of results of others are not asked for."""
    used = set(re.findall(r"\b([a-z_]+)\.([a-z_]+)\(", GUIDE.read_text()))
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    named = {f"{m}.{f}" for m, f in used if m in modules and m != "scores"}
    assert len(named) >= 10
    assert named <= ENTRANCES.keys()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "values has no values"),
        ([1.0, math.nan], r"values\[1\] is nan, which is not a finite number"),
        ([math.inf], r"values\[0\] is inf"),
        (["a"], "values of type <U1, which are not numbers"),
        ([[1.0]], "values has 2 dimensions"),
        ([True], "type bool"),
        ([1.0, [2.0]], "values is not an array"),
    ],
)
def test_errors_name_the_value(values: Any, message: str) -> None:
    with pytest.raises(ValuesError, match=message) as refused:
        intervals.quantile_interval(values)
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, InputError)


def test_the_place_is_counted_from_the_beginning_of_a_long_series() -> None:
    values = np.ones((1 << 20) + 5)
    values[-2] = np.nan
    with pytest.raises(ValuesError, match=r"values\[1048579\]"):
        checked.series(values)


def test_pairs_have_one_length() -> None:
    twenty = [1.0 + i / 100 for i in range(20)]
    for other in ([1.0], twenty[:19]):
        with pytest.raises(ValuesError, match="first has 20 values and second has"):
            comparison.compare(twenty, other)


def test_an_array_of_floats_is_not_copied() -> None:
    values = np.ones(5)
    assert checked.series(values) is values


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("confidence", x) for x in (-1, 0, 1, math.nan)),
        *(("tick", x) for x in (-1, math.nan, math.inf)),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name: str, bad: float) -> None:
    values = np.linspace(1, 2, 40)
    for call in (
        lambda **k: quantile_interval(values, **k),
        lambda **k: range_interval(values, **k),
        lambda **k: compare(values, values, **k),
        lambda **k: compare_unpaired(values, values, **k),
        lambda **k: compare_spread(values, values, **k),
    ):
        with pytest.raises(ValuesError, match=f"{name} is"):
            call(**{name: bad})


@pytest.mark.parametrize("bad", [-1, 0, math.nan, math.inf])
def test_margins_and_quantiles_out_of_range_are_refused(bad: float) -> None:
    values = np.linspace(1, 2, 40)
    for call in (compare, compare_unpaired, compare_spread):
        with pytest.raises(ValuesError, match="margin is"):
            call(values, values, margin=bad)
    with pytest.raises(ValuesError, match="q is"):
        quantile_interval(values, q=bad)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("margin", "2%"), ("margin", -0.1), ("precision", "1%"), ("precision", float("nan")),
        ("confidence", 95), ("confidence", True), ("q", "p99"), ("q", 1.5),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_with_a_usual_value(name: str, value: Any) -> None:
    values = np.random.default_rng(1).normal(1, 0.01, 40)
    refuse: Any = confirm.repetitions
    if name == "margin":
        refuse = functools.partial(comparison.compare, values)
    with pytest.raises(ValuesError, match=f"^{name} is ") as error:
        refuse(values, **{name: value})
    assert str(error.value.hint).startswith(f"{name}=0.")
