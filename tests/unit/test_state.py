"""What outlives a session, in a folder that anything may have happened to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tare.agent import client
from tare.experiment import machine_facts
from tare.host import state

GOOD = {"name": "selftest_wall_error_ns", "value": 5.0, "unit": "ns"}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    return tmp_path / state.SELFTEST


def told(facts: Any) -> dict[str, Any]:
    """Keep facts as this agent's on this kernel, and return those that a session would store."""
    state.write(
        state.SELFTEST,
        {"agent_digest": client.digest(), "kernel": os.uname().release, "facts": facts},
    )
    found = machine_facts.facts({"memory_bytes": 1})
    return {f.name: f.value for f in found if f.source == "tare selftest"}


def test_a_good_fact_is_stored_once(kept: Path) -> None:
    words = {"name": "selftest_date", "value": "2026-01-01 00:00", "unit": None}
    assert told([GOOD, words, GOOD]) == {
        "selftest_wall_error_ns": 5.0, "selftest_date": "2026-01-01 00:00",
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"name": "kernel"},
        {"name": "selftest_\n_ns"},
        {"name": "selftest_wall_error_ns\n"},
        {"name": 5},
        {"value": [1, 2]},
        {"value": {}},
        {"value": None},
        {"value": True},
        {"value": "NaN"},
        {"value": 10**30},
        {"value": 1e300},
        {"unit": "bytes"},
        {"unit": ["ns"]},
        {"unit": None},
        {"name": "selftest_date", "unit": None, "value": "\x1b[31mred"},
        {"name": "selftest_date", "unit": None, "value": "long" * 1000},
    ],
)
def test_a_fact_that_tare_did_not_write_goes_into_no_result(
    kept: Path, change: dict[str, Any]
) -> None:
    assert told([GOOD | change]) == {}


@pytest.mark.parametrize("facts", [None, 5, "words", {"name": "x"}, [5], [None], [[]]])
def test_what_are_no_facts_are_none(kept: Path, facts: Any) -> None:
    assert told(facts) == {}


def test_only_a_plain_file_of_a_plausible_size_is_read(kept: Path) -> None:
    kept.write_bytes(b'{"a":1}')
    assert state.read(state.SELFTEST) == {"a": 1}
    with kept.open("ab") as file:
        file.truncate(1 << 36)
    assert state.read(state.SELFTEST) is None
    for text in (b"", b"[" * 100_000, b'{"a":NaN}', b'{"a":1e999}', b"\xff", b"[]"):
        kept.write_bytes(text)
        assert state.read(state.SELFTEST) is None
    kept.unlink()
    os.mkfifo(kept)
    assert state.read(state.SELFTEST) is None  # and does not wait for a writer
    kept.unlink()
    kept.symlink_to("/dev/zero")
    assert state.read(state.SELFTEST) is None
