"""Figures from the values of rounds."""

from __future__ import annotations

import pytest

from tare.features.machine.fingerprint.figures import figure


def test_what_most_rounds_see_nothing_of_has_a_mean() -> None:
    rare = figure([0.0] * 6 + [0.02, 0.04], "1")
    assert rare.value == pytest.approx(0.0075)
    assert rare.ci is not None
    assert rare.ci[0] == 0
    assert rare.ci[1] > rare.value
    assert rare.why is not None
    assert figure([0.0] * 8, "1").value == 0
    assert figure([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], "1").value == 1
    assert figure([0.0, 0.0, 1.0], "1").ci is None
