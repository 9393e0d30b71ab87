"""Sweeps by memory: places are MB, slopes per GB, wherever they are shown."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import printed
import pytest
import sweeps
from sweeps import Sweep
from swept import EMPTY

from tare.experiment.specification import SizeSpec
from tare.experiment.sweep import analysis, cache, messages
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import entries, file
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.findings.calibration import UNIT
from tare.features.calibration.mapping import mapping
from tare.features.calibration.session import Conclusion
from tare.render.words import paragraph, sentence

MB = (128, 256, 512, 1024, 1769, 2048, 3008, 3538)
MORE = (*MB, 5307, 7076)


def results(machine: Sweep | None = None, mb: tuple[int, ...] = MB, cores: float = 1 / 1769):
    sizes = {f"{m} MB": SizeSpec(cores=m * cores, memory_bytes=m << 20) for m in mb}
    return sweeps.make(machine, sizes=sizes)


def by_memory(machine: Sweep | None = None, mb: tuple[int, ...] = MB) -> Calibration:
    found = analysis.calibration(results(machine, mb))
    assert found is not None
    return found


def test_the_line_is_along_the_memory() -> None:
    found = by_memory()
    assert (found.by, found.axis) == ("memory", "memory")
    assert found.asked.verdict == "linear"
    assert found.asked.line.slope == pytest.approx(28e9 / 1769, rel=0.02)
    assert [(s.start, s.end) for s in found.asked.segments] == [(128, 3538)]
    assert (found.regimes[0].start, found.regimes[0].end) == (128, 3538)
    assert "128 to 3,538 MB" in sentence(messages.verdict(found))
    assert (
        "half of the memory is half of the speed"
        in sentence(messages.comparability(found) or "").lower()
    )


def test_a_ceiling_is_where_the_threads_end() -> None:
    found = by_memory(mb=MORE)
    assert found.asked.saturates_at == pytest.approx(3538, rel=0.05)
    ceiling = messages.ceiling(found)
    assert ceiling is not None
    assert ceiling.expected
    assert "MB" in ceiling.evidence
    assert messages.answer(found) == "yes"


def test_memory_that_does_not_go_with_the_cpu_is_no_axis() -> None:
    sizes = {f"{n}": SizeSpec(cores=0.25 * n, memory_bytes=(512 + n) << 20) for n in range(1, 9)}
    found = analysis.calibration(sweeps.make(sizes=sizes))
    assert found is not None
    assert (found.by, found.axis) == ("quota", "cpu")
    assert found.asked.line.slope == pytest.approx(28e9, rel=0.02)


def test_later_experiments_are_told_in_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[cache._Kept] = []
    monkeypatch.setattr(cache, "kept", lambda: ())
    monkeypatch.setattr(cache.state, "write", lambda _, what: kept.append(what))
    assert cache.remember(by_memory(), 20)
    (one,) = kept[0].calibrations
    assert one.linear == ((pytest.approx(0.0724), 2.0),)
    assert one.slope == pytest.approx(28e9, rel=0.02)


def test_every_medium_has_mb(tmp_path: Path) -> None:
    found = by_memory()
    screen = printed.text(
        entries.report(
            Conclusion(calibrations=(found,), folder=tmp_path, report=EMPTY, ended="trials"), None
        )
    )
    alternative = paragraph(tell_sweep(asked(found)))
    for text in (screen, alternative):
        assert "MB" in text
        assert "per CPU" not in text
    assert "GFLOPS per GB" in screen
    assert re.search(r"memory in MB +3,?538", screen)
    finding = UNIT.find(results())
    assert finding is not None
    units = {one.name: one.unit for one in finding.estimates}
    assert units["slope (asked)"] == "flop/s/MB"
    assert units["slope (delivered)"] == "flop/s/CPU"
    sizes = [row["memory"] for row in finding.tables[0].rows]
    assert (sizes, finding.tables[0].columns[0].title) == ([*MB], "memory, MB")
    titles = [column.title for table in finding.tables for column in table.columns]
    assert "GFLOPS per GB" in titles
    assert "slope, GFLOPS per GB" in titles


def test_slopes_per_gb_are_those_per_mb_of_1024() -> None:
    drawn = asked(by_memory())
    assert drawn.slope(drawn.line) == pytest.approx(28 / 1769 * 1024, rel=0.02)
    step = drawn.steps[-1]
    assert drawn.each(step) == pytest.approx(step.y / (3538 / 1024))


def test_a_file_keeps_its_axis_and_old_ones_have_cpus(tmp_path: Path) -> None:
    found = by_memory()
    file.write((found,), tmp_path / "c.json")
    assert file.load(tmp_path / "c.json") == (found,)
    held = msgspec.json.decode((tmp_path / "c.json").read_bytes())
    del held["axis"]
    (tmp_path / "c.json").write_bytes(msgspec.json.encode(held))
    (old,) = file.load(tmp_path / "c.json")
    assert old.axis == "cpu"


def test_memory_here_is_converted_to_cpus_there() -> None:
    here = by_memory()
    (there,) = [analysis.calibration(sweeps.make())]
    assert there is not None
    found = mapping(here, there, ("here", "there"), [884.5])
    assert found.equals[0].on[0].value == pytest.approx(0.5, rel=0.03)
    assert "CPUs" in found.sentence
    assert "884.5 MB on here" in found.sentence


def test_speed_that_falls_is_no_praise() -> None:
    falls = analysis.calibration(sweeps.make(Sweep(usable=9, efficiency=lambda x: (3 - x) / x)))
    assert falls is not None
    assert falls.asked.verdict == "falling"
    assert messages.answer(falls) == "no"
    assert sentence(messages.verdict(falls)).startswith("Falling: more CPU gives less speed from")
