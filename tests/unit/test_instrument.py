"""What a session's facts say of tare itself."""

from __future__ import annotations

from typing import Any

import pytest

from tare.findings.instrument import beside, own_error

FACTS: dict[str, Any] = {
    "selftest_date": "2026-01-01 00:00",
    "selftest_wall_error_ns": 0.7e6,
    "selftest_wall_error_within_ns": 0.1e6,
    "selftest_cpu_error_ns": 0.3e6,
}


def test_the_own_error_names_what_is_known_and_when() -> None:
    assert own_error(FACTS.get) == (
        "The instrument's own error here: wall +0.70 ± 0.10 ms, CPU +0.30 ms "
        "(tare selftest, 2026-01-01 00:00)."
    )
    elsewhere = FACTS | {"selftest_platform": "docker"}
    assert "error here, on docker: " in (own_error(elsewhere.get) or "")
    assert own_error({"selftest_date": "2026-01-01 00:00"}.get) is None


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (8e6, "wall +0.70 ± 0.10 ms, up to 10.0 % of the median"),
        (79e6, "up to 1.0 % of the median"),
        (81e6, None),
        (0.0, None),
    ],
)
def test_a_time_is_told_the_own_error_only_where_it_matters(ns: float, said: str | None) -> None:
    found = beside(FACTS.get, ns)
    assert found is None if said is None else said in (found or "")
    assert beside({}.get, ns) is None


def test_a_fact_that_is_no_number_is_not_told() -> None:
    for key in ("selftest_wall_error_ns", "selftest_wall_error_within_ns"):
        assert beside((FACTS | {key: "much"}).get, 1e6) is None
