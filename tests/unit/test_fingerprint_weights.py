"""What platforms weigh beside the first of them, of rounds that were made up."""

from __future__ import annotations

from pathlib import Path

import fingerprints
import numpy as np
import printed
import pytest
from said import template

from tare.agent import record
from tare.errors import ExperimentError
from tare.experiment.catalogue import catalogue
from tare.experiment.session.probing import Round
from tare.features.machine.fingerprint import diff_command, file
from tare.features.machine.fingerprint import weights_page as page
from tare.features.machine.fingerprint.choice import choose
from tare.features.machine.fingerprint.measured_platform import MeasuredPlatform
from tare.features.machine.fingerprint.request import Asked
from tare.features.machine.fingerprint.weighing import weighed
from tare.features.machine.fingerprint.weights import Weights
from tare.host.processes import Share, Weight
from tare.platforms import Place
from tare.render import files
from tare.render.words import text
from tare.results.message import message

MS = 10**6


def resident(stack: str, factor: float, *, emulated: bool = False) -> MeasuredPlatform:
    """Make up a platform on which all takes so many times as long as on the bare machine."""
    random = np.random.default_rng(3)
    choice = choose(catalogue().probes, ["syscall", "memory.bandwidth.copy"], "quick", {})
    folder = Path("/tmp")
    one = MeasuredPlatform(
        stack=stack, choice=choice, place=Place(name="tare-000000-0", shared=""), folder=folder
    )
    one.starts = [700 * MS, *range(300 * MS, 307 * MS, MS)]
    one.stops = list(range(10 * MS, 17 * MS, MS))
    for n in range(20):
        jitter = 1 + 0.01 * random.standard_normal()
        values = (
            ("syscall", "syscall.getpid", (), 100 * factor * jitter),
            ("memory.bandwidth", "memory.bandwidth.copy", (1,), 1e10 / factor * jitter),
        )
        for probe, metric, at, value in values:
            reading = record.Reading(id=1, metric=metric, at=at, value=value)
            one.rounds.append(
                Round(probe=probe, number=n, seconds=0.1, readings=(reading,), faults=())
            )
    one.weights = [
        (0, Weight(Share(0, 9 << 20), Share(0, 3 << 20))),
        (10**9, Weight(Share(20 * MS, 10 << 20), None if emulated else Share(MS, 4 << 20))),
    ]
    one.facts = {"emulated": True} if emulated else {}
    return one


@pytest.fixture(scope="module")
def found() -> Weights:
    residents = [resident("bare", 1), resident("unshare", 1.5), resident("null", 8, emulated=True)]
    return Weights(
        tare="0", agent="0", started="2026-01-01T00:00:00Z", seconds=60.0, effort="quick",
        platforms=weighed(residents, Asked(), "2026-01-01T00:00:00Z", 60.0),
    )  # fmt: skip


def test_above_one_is_dearer_whether_it_takes_longer_or_brings_less(found: Weights) -> None:
    first, dear, _ = found.platforms
    assert first.costs == ()
    costs = {cost.metric: cost for cost in dear.costs}
    assert set(costs) == {"syscall.getpid", "memory.bandwidth.copy.1"}
    for cost in costs.values():
        assert cost.low is not None
        assert cost.high is not None
        assert cost.low <= 1.5 <= cost.high
        assert cost.verdict == "costs"


def test_starts_tell_the_first_apart_from_the_later_ones(found: Weights) -> None:
    starting = found.platforms[1].starting
    assert starting is not None
    assert starting.cold.value == 700 * MS
    assert starting.warm.n == 7
    assert starting.warm.value == 303 * MS
    assert starting.stop.ci is not None


def test_the_hosts_share_is_absent_where_it_cannot_be_known(found: Weights) -> None:
    _, plain, guest = (one.holding for one in found.platforms)
    assert plain is not None
    assert guest is not None
    assert plain.around_cpu_share == 0.02
    assert plain.agent_memory_bytes == 4 << 20
    assert guest.agent_memory_bytes is None


def test_an_emulated_platform_is_marked_and_never_called_slow(found: Weights) -> None:
    made = page.make(found, "tare fingerprint")
    lines = printed.lines(made)
    (line,) = [line for line in lines if line.startswith("syscall.getpid")]
    assert "▲" in line
    assert "(× 8.0" in line
    dear, emulated, signs = made.answers
    assert template(dear) == "{faster}"
    assert (dear.args["platform"], dear.args["first"]) == ("unshare", "bare")
    assert (dear.args["slower"], dear.args["figures"], dear.args["faster"]) == (2, 2, 0)
    assert emulated == message(
        "{platform} is emulated: its instructions are translated. Its figures, in "
        "brackets, are not the platform's overhead",
        platform="null",
    )
    assert signs == message(
        "▲ slower, ▽ faster, = equivalent, ? inconclusive, in brackets: emulated"
    )
    for said in (dear, emulated):
        assert f"Overhead  {text(said)}" in lines


def test_the_page_is_written(found: Weights, tmp_path: Path) -> None:
    (written, *_) = files.write(page.make(found, "tare fingerprint"), tmp_path / "weights.html")
    html = written.read_text()
    assert "null is emulated" in html
    assert "Hodges–Lehmann" in html


def test_the_file_is_read_and_compared_platform_by_platform(found: Weights, tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    fingerprints.write(found, before)
    assert file.read(before) == found
    fingerprints.write(found.platforms[1].fingerprint, after)  # type: ignore[arg-type]
    same = diff_command.diff(before, before)
    assert same.exit_code == diff_command.SAME
    assert [one.label for one in same.entries][:2] == ["bare", "unshare"]
    assert diff_command.diff(before, after).exit_code == diff_command.SAME
    other = resident("docker", 1)
    fingerprints.write(weighed([other], Asked(), "", 1.0)[0].fingerprint, after)  # type: ignore[arg-type]
    with pytest.raises(ExperimentError, match="no platform in common"):
        diff_command.diff(before, after)
