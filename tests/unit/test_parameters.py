"""Parameters of units: what is given is checked against what the unit says."""

from __future__ import annotations

import pytest

from tare.errors import ExperimentError
from tare.registry import Description, Parameter, checked

UNIT = Description(
    name="one",
    title="",
    question="",
    parameters=(
        Parameter(name="count", meaning="", default=1, minimum=0, maximum=9),
        Parameter(name="share", meaning="", minimum=0.0),
        Parameter(name="text", meaning=""),
        Parameter(name="way", meaning="", default="a", choices=("a", "b")),
        Parameter(name="really", meaning="", default=False),
    ),
)


def test_defaults_are_filled_in() -> None:
    filled = {"count": 1, "share": None, "text": None, "way": "a", "really": False}
    assert checked("here", UNIT, {}) == filled
    assert checked("here", UNIT, {"share": 3, "way": "b"}) == {**filled, "share": 3, "way": "b"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cuont": 1}, "here has no 'cuont'"),
        ({"count": "1"}, "here: count = '1' is not a whole number from 0 to 9"),
        ({"count": 10}, "a whole number from 0 to 9"),
        ({"count": True}, "a whole number"),
        ({"share": -0.5}, "a number from 0"),
        ({"share": float("nan")}, "a number from 0"),
        ({"text": 1}, "a text"),
        ({"way": "c"}, "one of 'a', 'b'"),
        ({"really": 1}, "true or false"),
        ({"really": None}, "true or false"),
    ],
)
def test_what_does_not_fit_is_named(given: dict[str, object], words: str) -> None:
    with pytest.raises(ExperimentError, match=words):
        checked("here", UNIT, given)


def test_what_can_be_set_is_told() -> None:
    with pytest.raises(ExperimentError) as caught:
        checked("here", UNIT, {"cuont": 1})
    _, _, names = (caught.value.hint or "").partition(": ")
    assert names.split(", ") == ["count", "share", "text", "way", "really"]
