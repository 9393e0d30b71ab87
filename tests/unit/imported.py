"""What every format promises of what it read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tare.readers import Imported
from tare.render.words import text

#: Files that the tools wrote, a folder for each format.
DATA = Path(__file__).parents[1] / "data" / "interop"


def sound(found: Imported) -> None:
    """Hold what was read against what ``Imported`` promises."""
    assert found.series
    keys = [(one.metric, *sorted(one.key.items())) for one in found.series]
    assert len(set(keys)) == len(keys)
    for one in found.series:
        assert one.values.dtype == np.float64
        if one.above is None:
            assert np.isfinite(one.values).all()
        else:
            # A value is a number or exceeds a limit that is one.
            assert np.array_equal(np.isposinf(one.values), np.isfinite(one.above))
            assert not np.isnan(one.values).any()
        assert one.trial is None or one.trial.shape == one.values.shape
        assert all(math.isfinite(value) for value in one.reported.values())
        assert {d.kind for d in one.defects} <= {"corrupt", "mixed units", "summary only"}
        names = [*one.key, *one.key.values()]
        assert all(name.isprintable() for name in names)
        said = [*one.notes, *(d.message for d in one.defects)]
        assert all(text(message).isprintable() for message in said)
    spec = found.specification
    phrases = [spec.repetitions, spec.statistic, spec.spread, spec.environment, *found.notes]
    assert all(phrase is None or text(phrase).isprintable() for phrase in phrases)
