"""What a session's facts say of tare itself."""

from __future__ import annotations

from typing import Any

import pytest

from tare.experiment.findings.instrument import notable, own_error
from tare.results.message import Amount, Deviation, message

FACTS: dict[str, Any] = {
    "selftest_date": "2026-01-01 00:00",
    "selftest_wall_error_ns": 0.7e6,
    "selftest_wall_error_within_ns": 0.1e6,
    "selftest_cpu_error_ns": 0.3e6,
}


def test_the_own_error_names_what_is_known_and_when() -> None:
    found = own_error(FACTS.get)
    assert found is not None
    assert found.args == {
        "place": message("on this machine"),
        "errors": [
            message("{name} {error}", name="wall", error=Deviation(0.7e6, "ns", 0.1e6)),
            message("{name} {error}", name="CPU", error=Deviation(0.3e6, "ns", None)),
        ],
        "source": message("tare selftest, {date}", date="2026-01-01 00:00"),
    }
    elsewhere = own_error((FACTS | {"selftest_platform": "docker"}).get)
    assert elsewhere is not None
    assert elsewhere.args["place"] == message("on this machine ({platform})", platform="docker")
    assert own_error({"selftest_date": "2026-01-01 00:00"}.get) is None


@pytest.mark.parametrize(("ns", "share"), [(8e6, 0.1), (79e6, 0.8 / 79), (81e6, None), (0.0, None)])
def test_a_time_is_told_the_own_error_only_where_it_matters(ns: float, share: float | None) -> None:
    found = notable(FACTS.get, ns)
    if share is None:
        assert found is None
    else:
        assert found is not None
        assert found.args["error"] == Deviation(0.7e6, "ns", 0.1e6)
        assert found.args["share"] == Amount(pytest.approx(share), "share")
    assert notable({}.get, ns) is None


def test_a_fact_that_is_no_number_is_not_told() -> None:
    for key in ("selftest_wall_error_ns", "selftest_wall_error_within_ns"):
        assert notable((FACTS | {key: "much"}).get, 1e6) is None
