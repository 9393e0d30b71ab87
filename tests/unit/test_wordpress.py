"""The blog's application: when JMeter's requests were due, which its results do not say."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import pytest

from tare.experiment.file import application

FOLDER = Path(application.built_in()["wordpress"])
BEGAN = 1_700_000_000_000
PAUSE_S = 2

needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")


def _due(rate: float, seconds: float, seed: int) -> list[int]:
    """Draw the times of arrival, in ms, as JMeter's open model does."""
    state = (seed ^ 0x5DEECE66D) % 2**48

    def bits(wanted: int) -> int:
        nonlocal state
        state = (state * 0x5DEECE66D + 0xB) % 2**48
        return state >> (48 - wanted)

    drawn = [((bits(26) << 27) + bits(27)) / 2**53 * seconds for _ in range(int(rate * seconds))]
    return [BEGAN + int((PAUSE_S + at) * 1000 + 0.5) for at in sorted(drawn)]


def _results(path: Path, starts: list[int], quoted: str = "") -> None:
    with path.open("w") as file:
        file.write('timeStamp,label,threadName,success,failureMessage,"TESTSTART.MS"\n')
        for number, start in reversed([*enumerate(starts, 1)]):
            file.write(f"{start},home,arrivals 1-{number},true,{quoted},{BEGAN}\n")


def _intended(path: Path, rate: float = 20, seconds: float = 10, seed: int = 7):  # type: ignore[no-untyped-def]
    return subprocess.run(
        ["perl", FOLDER / "intended.pl", *map(str, (rate, seconds, seed, PAUSE_S)), path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_random_is_that_of_java():
    # java.util.Random(42).nextDouble() is 0.7275636800328681.
    assert _due(1, 1, 42) == [BEGAN + 2728]


@needs_perl
def test_intended_starts_are_drawn_again(tmp_path):
    due = _due(20, 10, 7)
    late = [start + number % 7 for number, start in enumerate(due)]
    _results(tmp_path / "r.csv", late, quoted='"one, ""two""\nand three"')
    done = _intended(tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["intended"]) for row in rows] == due[::-1]
    assert "largest 6 ms of 200 requests" in done.stdout


@needs_perl
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda due: due[:-1], "199 rows of 200 arrivals"),
        (lambda due: [start - 10 for start in due], "started -10 ms before it was due"),
        (lambda due: [start + 1500 for start in due], "less than 1500 ms late"),
        (lambda due: _due(20, 10, 8), "JMeter draws other times"),
    ],
)
def test_results_of_another_schedule_are_refused(tmp_path, change, why):
    _results(tmp_path / "r.csv", change(_due(20, 10, 7)))
    done = _intended(tmp_path / "r.csv")
    assert done.returncode == 1
    assert why in done.stderr
    assert "intended" not in (tmp_path / "r.csv").read_text()


def test_open_and_closed_load_have_one_image():
    closed, opened = application.read("wordpress"), application.read("wordpress-open")
    assert closed.image == opened.image
    assert closed.prepare == opened.prepare
    assert closed.services == opened.services
    assert (closed.driver.load, opened.driver.load) == ("closed", "open")
    assert {one.name for one in opened.parameters} == {"rate", "seconds"}
    assert closed.digest != opened.digest


def test_all_files_are_in_the_image():
    found = application.read("wordpress")
    named = {*found.image.files, found.image.artefact_list, "application.toml"}
    assert named == {path.name for path in FOLDER.iterdir()}
