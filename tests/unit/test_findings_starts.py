"""What starting a platform takes: medians of the later instances, the first of all apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import columns
import msgspec
import synthetic
from said import template
from situations import with_starts

from tare.experiment.findings.starts import UNIT
from tare.render.words import sentence
from tare.results.message import Message

MS = 1_000_000


def in_order(medians: object) -> list[Any]:
    """Return the starts that a sentence lists."""
    assert isinstance(medians, Message)
    assert template(medians) == "starting one more"
    starts: Any = medians.args["starts"]
    return [*starts]


def test_medians_leave_the_first_start_out() -> None:
    found = UNIT.find(with_starts(synthetic.make(), bare=2, docker=300, bubblewrap=20))
    assert found is not None
    values = {e.levels["platform"]: e.value for e in found.estimates}
    assert list(values) == ["bare", "docker", "bubblewrap"]
    for platform, ms in (("bare", 2), ("docker", 300), ("bubblewrap", 20)):
        assert abs((values[platform] or 0) / (ms * MS) - 1) < 0.1
    starts = in_order(found.answer)
    assert [start.args["platform"] for start in starts] == ["bare", "bubblewrap", "docker"]
    assert all(start.args["time"].low < start.args["time"].high for start in starts)
    (table,) = found.tables
    assert table.rows[1]["first"] > 5 * table.rows[1]["start"]
    assert table.rows[0]["stop"] == MS


def test_where_each_trial_starts_one_all_platforms_are_named() -> None:
    some = with_starts(synthetic.make(), bare=2, docker=300, bubblewrap=20)
    anew = replace(some, experiment=msgspec.structs.replace(some.experiment, fresh="trial"))
    found = UNIT.find(anew)
    assert found is not None
    starts = in_order(found.summary)
    assert [start.args["platform"] for start in starts] == ["bare", "bubblewrap", "docker"]
    assert "[" not in sentence(found.summary)


def test_it_is_not_asked_of_a_single_platform() -> None:
    assert UNIT.find(with_starts(synthetic.make(), bare=2)) is None
    assert UNIT.find(synthetic.make()) is None
    few = with_starts(synthetic.make(), bare=2, docker=300)
    first = [rows.rows([0, 1, 2]) for _, rows in few.instances.groups("platform")]
    assert UNIT.find(replace(few, instances=columns.stacked(*first))) is None
