"""``tare net identify`` on real traces of EC2, and what it prints."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from model_bucket import Phase, carried
from noisy_traces import bucket, noisy
from typer.testing import CliRunner

from tare.errors import InputError
from tare.wiring import command_line

DATA = Path(__file__).parents[1] / "data" / "c5_token_bucket"
WORDS = ["--time", "second", "--value", "bandwidth_gbps", "--group", "instance,region,epoch"]


def called(*words: str) -> str:
    result = CliRunner().invoke(command_line(), ["net", "identify", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@dataclass(frozen=True)
class Identified:
    """What is written of some of the traces, and how many fell as a bucket does."""

    series: list[dict[str, Any]]
    screen: str
    drops: int
    interrupted: int


#: By the file's groups: four that are short, or all eleven.
SHORT = ("1568034111", "1568036164", "1568102501", "1568029396")


@pytest.fixture(
    scope="module", params=["short", pytest.param("all", marks=pytest.mark.slow, id="all")]
)
def identified(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Identified:
    folder = tmp_path_factory.mktemp("traces")
    header, *lines = (DATA / "series.csv").read_text().splitlines(keepends=True)
    if request.param == "short":
        lines = [line for line in lines if line.split(",")[2] in SHORT]
    (folder / "series.csv").write_text(header + "".join(lines))
    screen = called(str(folder / "series.csv"), *WORDS, "--json", str(folder / "found.json"))
    series = json.loads((folder / "found.json").read_text())["series"]
    return Identified(series, screen, *((4, 0) if request.param == "short" else (9, 2)))


@pytest.fixture(scope="module")
def authors() -> dict[str, dict[str, str]]:
    with (DATA / "authors.csv").open() as file:
        return {row["epoch"]: row for row in csv.DictReader(file)}


def test_what_the_authors_of_the_traces_found(
    identified: Identified, authors: dict[str, dict[str, str]]
) -> None:
    assert len(identified.series) == identified.drops + identified.interrupted
    drops = 0
    for one in identified.series:
        theirs = {k: float(authors[one["key"]["epoch"]][k]) for k in
                  ("time_to_empty_s", "high_gbps", "low_gbps")}  # fmt: skip
        assert one["high_gbps"]["value"] == pytest.approx(theirs["high_gbps"], rel=0.01)
        if theirs["low_gbps"] > 0.9 * theirs["high_gbps"]:
            assert one["kind"] == "interrupted"
            assert one["outages"] == 1
            assert "Nothing got through" in " ".join(one["reasons"])
            continue
        drops += 1
        assert one["kind"] == "drop"
        assert one["low_gbps"]["value"] == pytest.approx(theirs["low_gbps"], rel=0.01)
        # Their script waited for ten seconds before it called the bucket empty.
        truth = theirs["time_to_empty_s"] - 10
        assert one["time_to_empty_s"]["value"] == pytest.approx(truth, abs=2)
        assert one["reasons"][1].startswith("It fell once.")
        assert one["budget_gbit"] is None
        assert one["refill_gbps"] is None
    assert drops == identified.drops


def test_every_figure_has_an_interval_that_holds_it(identified: Identified) -> None:
    for one in identified.series:
        assert one["reasons"]
        for name in ("high_gbps", "low_gbps", "time_to_empty_s", "budget_gbit", "refill_gbps"):
            assert name in one
            if one[name] is not None:
                low, high = one[name]["ci"]
                assert low < one[name]["value"] < high


def test_many_series_are_a_table(identified: Identified) -> None:
    assert f"{identified.drops} × a drop" in identified.screen
    assert (
        identified.interrupted == 0
        or f"{identified.interrupted} × interrupted" in identified.screen
    )
    assert identified.screen.count("us-east-1") >= len(identified.series)


_RESTED: list[Phase] = [
    (True, 120.0), (False, 200.0), (True, 90.0), (False, 120.0), (True, 60.0)
]  # fmt: skip


def test_a_bucket_in_words_with_the_next_command(tmp_path: Path) -> None:
    trace = noisy(carried(bucket(), _RESTED, 1.0))
    file = tmp_path / "trace.csv"
    rows = [f"{s:g},{b / 1e9:.4f}" for s, b in zip(trace.start_s, trace.bits, strict=True)]
    file.write_text("\n".join(["second,bandwidth_gbps", *rows]) + "\n")
    text = called(str(file), "--pattern", "120-200")
    assert text.startswith("A token bucket.")
    assert "depleted after" in text
    assert "· idle" in text
    assert "emulate 'bucket high=" in text
    both = called(str(file), str(file), "--json", str(tmp_path / "out.json"))
    assert "trace.csv" in both
    assert len(json.loads((tmp_path / "out.json").read_text())["series"]) == 2


def test_gaps_are_blank_and_what_cannot_be_replayed_is_not_offered(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    rows = [f"{s},{'' if s in (4, 5) else 2}" for s in range(30) if not 10 <= s < 20]
    file.write_text("\n".join(["second,bandwidth_gbps", *rows]) + "\n")
    text = called(str(file))
    line = next(line for line in text.splitlines() if "█" in line)[15:]
    assert line == "█" * 8 + " " * 4 + "█" * 8 + " " * 20 + "█" * 20
    assert "blank: not known" in text
    assert "· idle" not in text
    assert f"replay:{file}" in text
    other = called(str(file), "--value", "bandwidth_gbps")
    assert "rate 2Gbit" in other
    file.write_text("second,bandwidth_gbps\n" + "".join(f"{s},0\n" for s in range(9)))
    assert "Next" not in called(str(file))


@pytest.mark.parametrize(
    "words", [["--pattern", "x"], ["--pattern", "0-5"], ["--unit", "furlong"], ["--value", "nope"]]
)
def test_slips_are_told(words: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        called(str(DATA / "series.csv"), *words)
    assert refused.value.hint
