"""Regular expressions on printed text, against DuckDB's: both use RE2."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tare.applications import expressions

ASSERTIONS = st.sampled_from(["", "", "^", "$", r"\b", r"\B", r"\A"])
OPTIONAL = st.sampled_from(["", "", "a*", "b?", " *?", "(b)?", "(?:é|a)*"])
ATOMS = st.sampled_from(["a", "b", "1", "é", ".", r"\d", "[^a]", r"\s", "(?i:x)", "(?s:.)"])


def _longer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(ASSERTIONS, OPTIONAL, inner, OPTIONAL, ASSERTIONS).map("".join),
        st.tuples(inner, inner).map(lambda two: "(?:{}|{})".format(*two)),
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, st.sampled_from(["+", "+?", "{1,2}"])).map(
            lambda two: "({}){}".format(*two)
        ),
    )


#: No expression matches an empty text.
PATTERNS = st.recursive(ATOMS, _longer, max_leaves=6)
TEXTS = st.text("abxX1 \né", max_size=30)


def from_duckdb(pattern: str, text: str, group: int, which: int) -> str | None:
    arguments = [text, "(?m)" + pattern, group]
    (found,) = duckdb.execute(
        f"select regexp_extract_all($1, $2, $3)[{which}]", arguments
    ).fetchone()  # type: ignore[misc]
    return found


@given(PATTERNS, TEXTS)
@example("(a)|b", "a b")
@example("^(.*a)$", "a\nba\n")
def test_matches_are_duckdbs(pattern: str, text: str) -> None:
    whole = from_duckdb(pattern, text, 0, -1)
    assert expressions.first(pattern, text) == from_duckdb(pattern, text, 0, 1)
    if expressions.groups(pattern) and whole is not None:
        # DuckDB has no text for a group that is not a part of the match.
        whole = from_duckdb(pattern, text, 1, -1) or ""
    assert expressions.last(pattern, text) == whole


@given(st.text(r"ab()[]{}*+?|\^$.:=!<1Q", max_size=8))
def test_expressions_are_refused_where_duckdb_refuses_them(pattern: str) -> None:
    try:
        from_duckdb(pattern, "", 0, 1)
    except duckdb.Error:
        with pytest.raises(ValueError, match="is no regular expression"):
            expressions.groups(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "a{1001}", "[", "a)(b", "(?<n>a", "\\"])
def test_what_re2_cannot_run_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no regular expression"):
        expressions.groups(pattern)


def test_no_empty_match_follows_another_one_directly() -> None:
    assert expressions.last("x*", "a xx") == "xx"
    assert expressions.last("^(.*)$", "a\nb") == "b"
    assert expressions.last("^(.*)$", "a\n") == ""


def test_case_is_ignored_where_asked_alone() -> None:
    """DuckDB's older RE2 takes both for one letter."""
    assert expressions.last("a|(?i:a)", "aA") == "A"


def test_time_is_linear() -> None:
    """A backtracking engine would take 2^200,000 steps."""
    assert expressions.last("^(a+)+$", "a" * 200_000 + "b") is None


def test_the_first_match_is_found_without_the_others() -> None:
    text = "a" * 1_000_000
    assert expressions.first("a", text) == "a"
    assert expressions.last("a", text) == "a"
