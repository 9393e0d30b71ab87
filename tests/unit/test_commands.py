"""Options: one of one value is given once, wherever it stands."""

from __future__ import annotations

import pytest
from inprocess import invoke

from tare.errors import UsageError


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("run --workers 1 --workers 2 -- true", "--workers"),
        ("run --size 1c --size=2c -- true", "--size"),
        ("compare --report a.json --report a.html true false", "--report"),
        ("compare --network none --network 'rate=1Gbit' true false", "--network"),
    ],
)
def test_an_option_of_one_value_is_given_once(words: str, option: str) -> None:
    done = invoke(*words.split())
    assert isinstance(done.exception, UsageError)
    assert done.exception.message.startswith(f"{option} ")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("report demo.json --charts --out charts", "--charts"),
        ("run --prepare --budget true -- true", "--prepare"),
        ("audit --compare --report a.html", "--compare"),
    ],
)
def test_an_option_is_no_value_of_another(words: str, option: str) -> None:
    done = invoke(*words.split())
    assert isinstance(done.exception, UsageError)
    assert done.exception.message.startswith(f"{option} ")
    assert f"{option} " in (done.exception.hint or "")


def test_what_may_be_repeated_and_what_the_command_has_itself_is_left_alone() -> None:
    words = "run -p bare -p bare -- tail --lines 1 --lines 2"
    done = invoke(*words.split())
    # That it is the same platform is another complaint.
    assert not isinstance(done.exception, UsageError)
