"""``tare calibrate fit``: sweeps of others, and everything that can be wrong in their file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from inprocess import invoke
from vega_lite import rows as rows_of

from tare.errors import ExperimentError, InputError
from tare.features.calibration import file as calibration_file
from tare.features.calibration import sweep_file
from tare.features.calibration.charts.one import residual, sweep_chart
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.mapping import mapping
from tare.render.tables import lay
from tare.results.finding import Column, Table
from tare.units import r_squared

SIZES = (128, 256, 512, 1024, 1769, 2048, 3008, 3538, 5307, 7076, 8845, 10_000)
LINE = "quota,gflops\n" + "".join(f"{i / 10},{5.4 * i}\n" for i in range(1, 21))


def write(folder: Path, content: str | bytes) -> Path:
    file = folder / "sweep.csv"
    if isinstance(content, str):
        file.write_text(content, encoding="utf-8")
    else:
        file.write_bytes(content)
    return file


def fit(file: Path, *words: str) -> str:
    done = invoke("calibrate", "fit", str(file), *words, catch=False)
    assert done.exit_code == 0
    return done.stdout


def h90() -> str:
    rows = ["run;Quota;GFLOPS;machine"]
    for run in range(3):
        for step in range(1, 41):
            slope = 54 if step <= 5 or step >= 30 else 11
            rows.append(
                f"{run};{step / 10};{slope * step / 10 * (1 + 0.01 * ((run + step) % 3))};x"
            )
    return "\n".join(rows)


def test_the_document_holds_what_calibrate_has_and_the_ranges(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    text = fit(write(tmp_path, h90()), "--json", str(told))
    found = json.loads(told.read_text())
    assert found["verdict"] == "piecewise"
    assert found["breaks"] == [0.55, 2.95]
    assert [(s["from"], s["to"]) for s in found["segments"]] == [(0.1, 0.5), (0.6, 2.9), (3, 4)]
    assert all(set(s) == {"from", "to", "slope", "intercept"} for s in found["segments"])
    assert {"r2", "slope", "intercept", "p", "max_gflops"} < set(found)
    assert found["max_gflops"] == pytest.approx(216, rel=0.03)
    assert 0 < found["p"] < 1e-9
    assert text.startswith("Answer  " + found["sentence"].split(". ")[0])


def test_a_person_reads_verdict_picture_tables_and_what_next(tmp_path: Path) -> None:
    text = fit(write(tmp_path, LINE))
    assert "linear from 0.1 to 2" in text.splitlines()[0]
    for part in ("●", "slope, GFLOPS per CPU", "R²", "< 0.001", "maximum", "Next    tare"):
        assert part in text


def test_standard_output_holds_the_document_alone(tmp_path: Path) -> None:
    assert json.loads(fit(write(tmp_path, LINE), "--json", "-"))["verdict"] == "linear"


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = LINE.replace("quota,gflops", '"CPU share","Solves/s"')
    found = fit(write(tmp_path, text), "--quota", "cpu share", "--value", "Solves/s")
    assert "Solves/s" in found
    assert "GFLOPS" not in found


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + LINE,
        LINE.replace("\n", "\r\n"),
        LINE.replace(",", "\t"),
        LINE.replace(",", " , "),
        "# made by hand\n\n" + LINE + "\n\n",
        "gflops,quota\n" + "".join(f"{5.4 * i},{i / 10}\n" for i in range(1, 21)),
    ],
    ids=["mark", "CR LF", "tabs", "spaces", "comments", "other order"],
)
def test_tables_are_written_in_many_ways(tmp_path: Path, text: str) -> None:
    found = sweep_file.read(write(tmp_path, text))
    assert found.quotas == pytest.approx([i / 10 for i in range(1, 21)])
    assert found.values == pytest.approx([5.4 * i for i in range(1, 21)])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("quota,gflops\n", "0 different quotas"),
        ("quota,gflops\n1,2\n2,3\n", "2 different quotas"),
        ("cpus,gflops\n1,2\n", "line 1 has no column 'quota'; its columns are 'cpus', 'gflops'"),
        ("quota,quota,gflops\n1,1,2\n", "line 1 has two columns 'quota'"),
        (LINE + "3\n", "line 22 has 1 value, but there are 2 columns"),
        (LINE + "3,4,5\n", "line 22 has 3 values"),
        (LINE + "3,\n", "line 22 has no gflops"),
        (LINE + "3,nan\n", "line 22: gflops is 'nan', not finite"),
        (LINE + "3,inf\n", "line 22: gflops is 'inf', not finite"),
        (LINE + "3,NA\n", "line 22: gflops is 'NA', no number"),
        (LINE + "3,-4\n", "line 22: gflops is '-4', not above 0"),
        (LINE + "0,4\n", "line 22: quota is '0', not above 0"),
        (LINE + "1e300,4\n", "line 22: quota is '1e300', too large"),
        (LINE + "1_0,4\n", "line 22: quota is '1_0', no number"),
        (LINE + "٣,4\n", "line 22: quota is '٣', no number"),
        (LINE + '"3,4\n', "line 22"),
        (LINE.encode() + b"\xff,1\n", "line 22"),
        (LINE.encode() + b"1\x00,1\n", "line 22 holds a zero byte"),
        (b"\x7fELF" + bytes(range(256)) * 10, "line 2"),
        (b"PK\x03\x04", "zip"),
        ("quota,gflops\n" + "".join(f"{i},1\n" for i in range(1, 1100)), "1,099 different quotas"),
        ("quota" + "," * 70_000 + "gflops\n1,2", "line 2"),
        ("x" * 200_000 + "\n1\n", "line 1"),
        ("quota,gflops\n\x1b[2J,1\n", r"line 2: quota is '\x1b[2J', no number"),
    ],
)  # fmt: skip
def test_what_is_no_sweep_is_told_with_its_line(
    tmp_path: Path, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(InputError) as raised:
        sweep_file.read(write(tmp_path, content))
    assert complaint in raised.value.message
    assert raised.value.hint
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 1000
    assert raised.value.exit_code == 16


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for file in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            sweep_file.read(file)


def test_quota_and_value_are_two_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both"):
        sweep_file.read(write(tmp_path, LINE), value="quota")


def test_a_page_is_written_and_says_how_to_make_it_again(tmp_path: Path) -> None:
    file = write(tmp_path, LINE.replace("quota,gflops", "cpus,solves"))
    page = tmp_path / "fit.md"
    fit(file, "--quota", "cpus", "--value", "solves", "--report", str(page))
    text = page.read_text()
    assert "linear from 0.1 to 2" in text
    assert f"fit {file} --quota cpus --value solves --report {page}" in text
    html = tmp_path / "fit.html"
    fit(file, "--quota", "cpus", "--value", "solves", "--report", str(html))
    assert "<svg" in html.read_text() or "vega" in html.read_text()


FALLING = "quota,gflops\n" + "".join(f"{i / 10},{100 - i}\n" for i in range(1, 21))


def test_speed_that_falls_is_not_called_linear(tmp_path: Path) -> None:
    told = tmp_path / "fall.json"
    text = fit(write(tmp_path, FALLING), "--json", str(told))
    assert text.startswith(
        "Answer  More CPU gives less speed (−10.0 GFLOPS per CPU): falling from 0.1 to"
    )
    assert "linear" not in text
    assert "compare" not in text.splitlines()[-1]
    assert json.loads(told.read_text())["verdict"] == "falling"
    with pytest.raises(ExperimentError, match="nowhere on fall") as raised:
        mapping(*calibration_file.load(told) * 2, names=("fall", "other"))
    assert "calibrate fit" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("r2", "written"),
    [(0.9998, "0.9998"), (0.99997, "0.99997"), (0.5, "0.5000"), (1.0, "1.0000"), (0.0, "0.0000")],
)
def test_an_r_squared_below_1_is_not_written_as_1(r2: float, written: str) -> None:
    assert r_squared(r2) == written
    columns = (Column(key="r2", title="R²", unit="1"),)
    laid = lay(Table(title="t", columns=columns, rows=({"r2": r2}, {"r2": 0.9})))
    assert laid.rows[0] == (written,)


@pytest.mark.parametrize(
    ("first", "quota", "noted"), [(128, "quota", True), (0.5, "quota", False), (128, "mb", False)]
)
def test_quotas_that_may_be_megabytes_are_noted(
    tmp_path: Path, first: float, quota: str, noted: bool
) -> None:
    rows = "".join(f"{first * i},{5 * i}\n" for i in range(1, 12))
    file = write(tmp_path, f"{quota},gflops\n{rows}")
    done = invoke("calibrate", "fit", str(file), "--quota", quota)
    assert ("--quota memory_mb" in done.stderr) == noted


def test_the_drawn_line_is_the_one_that_the_answer_is_about(tmp_path: Path) -> None:
    """Errors of one size: ordinary least squares would be another line than the weighted one."""
    rng = np.random.default_rng(3)
    rows = [f"{mb},{0.02 * mb - 2 + 0.1 * rng.standard_normal()}" for mb in SIZES for _ in range(5)]
    told = tmp_path / "m.json"
    fit(write(tmp_path, "\n".join(["memory_mb,gflops", *rows])), "--quota", "memory_mb",
        "--json", str(told))  # fmt: skip
    (found,) = calibration_file.load(told)
    sweep = asked(found)
    assert found.asked.straight is not None
    assert found.asked.straight.slope != pytest.approx(found.asked.line.slope, rel=1e-6)
    errors = [abs(value) / 100 for value in residual(sweep).values()]
    assert max(errors) == pytest.approx(found.asked.largest_error)
    drawn = [r for r in rows_of(sweep_chart(sweep)) if {"x", "y"} == set(r)]
    ends = {(r["x"], r["y"]) for r in drawn}
    for x in (SIZES[0], SIZES[-1]):
        assert (x, pytest.approx(sweep.line.at(x), rel=1e-4)) in [*ends]


def test_json_is_not_read_as_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is JSON, not a table"):
        sweep_file.read(write(tmp_path, '{\n"version": 1}\n'))
