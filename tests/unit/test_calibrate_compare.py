"""``tare calibrate compare``: what is typed, what is printed, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inprocess import invoke
from printed import lines as lines_of
from test_calibration_mapping import jumping, swept

from tare.errors import ExperimentError, StoreError, UsageError
from tare.features.calibration import compare_command as command
from tare.features.calibration import file
from tare.features.calibration.mapping import mapping
from tare.features.calibration.options import CompareOptions
from tare.features.calibration.page_tables import equals
from tare.render.words import sentence
from tare.results.message import message
from tare.results.report import Report


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Path]:
    made = {
        "laptop": swept(lambda x: 28 * x),
        "server": swept(lambda x: 17 * x, seed=2),
        "h90": swept(jumping, 4.0, seed=3),
        "triad": swept(lambda x: 17 * x, workload="triad", work="byte"),
    }
    for name, one in made.items():
        file.write((one,), tmp_path / f"{name}.json")
    return {name: tmp_path / f"{name}.json" for name in made}


def report(first: Path, second: Path, **options: Any) -> Report:
    return command.compare(CompareOptions(first=first, second=second, **options))


def printed(first: Path, second: Path, *cpus: float) -> list[str]:
    return lines_of(report(first, second, **({"cpus": cpus} if cpus else {})))


def compare(written: dict[str, Path], *words: str) -> None:
    both = [str(written["laptop"]), str(written["server"])]
    done = invoke("calibrate", "compare", *both, *words)
    assert done.exit_code == 0, done.output


def test_the_answer_comes_first(written: dict[str, Path]) -> None:
    lines = printed(written["laptop"], written["server"])
    assert lines[0].startswith("Answer   1 CPU on laptop = 1.6")
    assert any(line.endswith("--cpus=0.66") for line in lines)
    assert any("1.3 to 2" in line and "34.0 GFLOPS" in line for line in lines)
    note = sentence(
        message(
            "intervals hold for these two sweeps. How much each machine differs between "
            "sessions is not included"
        )
    )
    assert f"Note     {note}" in lines
    assert "compare --cpus 0.7 " in lines[-1]


def test_one_value_is_asked_for(written: dict[str, Path]) -> None:
    lines = printed(written["laptop"], written["server"], 0.7)
    assert lines[0].startswith("Answer   0.7 CPUs on laptop = 1.15")
    assert any("--cpus=1.15" in line for line in lines)
    assert lines[-1].startswith("Next     tare calibrate compare ")
    assert not any("•" in line for line in lines)


def test_where_no_step_has_an_equal_nothing_is_next(written: dict[str, Path]) -> None:
    file.write((swept(lambda x: 9000 * x),), written["h90"])
    found = report(written["h90"], written["server"])
    assert not any(one.on for one in found.figures["equals"])
    assert found.next_steps == ()


def test_many_steps_are_thinned_and_other_equals_told(written: dict[str, Path]) -> None:
    lines = printed(written["h90"], written["laptop"])
    assert sum("--cpus=" in line for line in lines) <= 12
    back = printed(written["laptop"], written["h90"])
    assert sum("  also " in line for line in back) >= 3


def test_it_is_written_as_json(written: dict[str, Path], tmp_path: Path) -> None:
    destination = tmp_path / "mapping.json"
    compare(written, "--cpus", "0.7,1.9", "--json", str(destination))
    found = json.loads(destination.read_text())
    assert [one["flag"] for one in found["equals"]] == ["--cpus=1.15", None]
    assert abs(found["equals"][0]["flag_error"]) < 0.005
    assert found["equals"][1]["on"] == []


def test_a_page_is_written(written: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "two.html"
    compare(written, "--report", str(page))
    assert "laptop = 1.6" in " ".join(page.read_text().replace("\xa0", " ").split())
    with pytest.raises(StoreError):
        report(written["laptop"], written["server"], report=tmp_path / "two.pdf")


def test_the_page_asked_for_says_how_to_make_it_again(
    written: dict[str, Path], tmp_path: Path
) -> None:
    page = tmp_path / "two.md"
    both = [str(written["laptop"]), str(written["server"])]
    done = invoke("calibrate", "compare", *both, "--cpus", "0.7", "--report", str(page))
    assert done.exit_code == 0
    assert "0.7 CPUs on laptop = 1.15" in done.stdout
    assert f"tare calibrate compare --cpus 0.7 {' '.join(both)} --report {page}" in page.read_text()
    assert "0.7 CPUs on laptop = 1.15" in page.read_text()


def test_what_is_outside_of_both_has_the_unit_of_the_machines(written: dict[str, Path]) -> None:
    (a,), (b,) = (file.load(written[name]) for name in ("laptop", "server"))
    table = equals(mapping(a, b, places=[50.0]))
    assert [column.unit for column in table.columns if column.key == "rate"] == ["GFLOPS"]
    lines = printed(written["laptop"], written["server"], 1.0, 50.0)
    assert any(line.startswith("Outside  50 CPUs: outside the range of laptop") for line in lines)
    assert not any("kFLOPS" in line for line in lines)
    with pytest.raises(ExperimentError, match=r"50 CPUs: outside the range of laptop") as raised:
        printed(written["laptop"], written["server"], 50.0)
    assert raised.value.hint == "--cpus 0.1"


def test_a_table_is_not_taken_for_a_broken_calibration(
    written: dict[str, Path], tmp_path: Path
) -> None:
    table = tmp_path / "cpu.csv"
    table.write_text("quota,gflops\n1,2\n")
    with pytest.raises(StoreError, match="is a table") as raised:
        report(table, written["laptop"])
    assert raised.value.hint == f"tare calibrate fit {table} --json cpu.json"


@pytest.mark.parametrize("asked", ["", "x", "0.7,", "-1", "0", "nan", "1e9"])
def test_cpus_that_cannot_be_are_refused(written: dict[str, Path], asked: str) -> None:
    both = [str(written["laptop"]), str(written["server"])]
    with pytest.raises(UsageError, match="expected CPUs on the first machine"):
        invoke("calibrate", "compare", *both, "--cpus", asked, catch=False)


def test_what_cannot_be_compared_ends_with_a_code_of_its_own(written: dict[str, Path]) -> None:
    done = invoke("calibrate", "compare", str(written["laptop"]), str(written["triad"]))
    assert isinstance(done.exception, ExperimentError)
    for name in ("linpack (size 1000)", "laptop", "triad"):
        assert name in str(done.exception)
    assert done.exception.exit_code >= 10


def test_a_file_that_is_no_calibration_is_refused(written: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"version": 2}')
    with pytest.raises(StoreError, match="is no calibration"):
        report(written["laptop"], tmp_path / "other.json")


def test_of_several_those_that_belong_together_are_compared() -> None:
    bare, triad = swept(lambda x: 28 * x), swept(lambda x: 3 * x, workload="triad")
    docker = swept(lambda x: 27 * x, platform="docker", seed=2)
    several = (triad, bare, docker)
    assert command.pick(several, (docker,), alike=True) == (docker, docker)
    assert command.pick(several, (swept(lambda x: x, platform="vm"),), alike=True)[0] in (
        bare, docker,
    )  # fmt: skip
    a, b = command.pick(several, several, alike=False)
    assert {a.platform, b.platform} == {"bare", "docker"}


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("/a/laptop.json", "/b/server.json", ("laptop", "server")),
        ("/a/calibration", "/b/calibration", ("a", "b")),
        ("/a/x.json", "/a/x.json", ("A", "B")),
        ("/v1.2", "/v1.3", ("v1.2", "v1.3")),
        ("/a/" + 30 * "n" + "1", "/a/" + 30 * "n" + "2", ("A", "B")),
    ],
)
def test_names_tell_the_two_apart(first: str, second: str, told: tuple[str, str]) -> None:
    assert command.names(Path(first), Path(second)) == told
