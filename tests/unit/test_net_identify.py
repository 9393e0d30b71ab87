"""``tare net identify`` on real traces of EC2, and what it prints."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from inprocess import invoke
from model_bucket import Phase, carried
from noisy_traces import bucket, noisy
from said import args, template

from tare.errors import InputError, TareError, UsageError
from tare.experiment.fingerprints.network.identified import Quartiles, TypeSummary
from tare.features.network.identify import types

DATA = Path(__file__).parents[1] / "data" / "c5_token_bucket"
WORDS = ["--time", "second", "--value", "bandwidth_gbps", "--group", "instance,region,epoch"]


def called(*words: str) -> str:
    result = invoke("net", "identify", *words, catch=False)
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
    assert text.startswith("Answer  A token bucket.")
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
    line = next(line for line in text.splitlines() if "█" in line)[23:]
    assert line == "█" * 8 + " " * 4 + "█" * 8 + " " * 20 + "█" * 20
    assert "blank: not known" in text
    assert "· idle" not in text
    assert f"replay:{file}" in text
    other = called(str(file), "--value", "bandwidth_gbps")
    assert "rate 2Gbit" in other
    file.write_text("second,bandwidth_gbps\n" + "".join(f"{s},0\n" for s in range(9)))
    assert "Next" not in called(str(file))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--pattern", "x"], UsageError),
        (["--pattern", "0-5"], UsageError),
        (["--unit", "furlong"], UsageError),
        (["--value", "nope"], InputError),
    ],
)
def test_slips_are_told(words: list[str], error: type[TareError]) -> None:
    with pytest.raises(error) as refused:
        called(str(DATA / "series.csv"), *words)
    assert refused.value.hint


#: By type: the high rate of each run, and the low rate; in Gbit/s.
PLANTED = {"small": ([8.0, 8.0, 8.0, 8.0], 1.0), "large": ([8.0, 4.0, 8.0, 8.0], 2.0)}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: Any) -> Path:
    """Runs of two types, each at the high rate for 120 Gbit more than the low rate would send."""
    file = tmp_path_factory.mktemp("types") / "types.csv"
    rows = [
        f"{kind},{run},{second},{(high if second < 120 / (high - low) else low):g}"
        for kind, (highs, low) in PLANTED.items()
        for run, high in enumerate(highs)
        for second in range(90)
    ]
    file.write_text("\n".join(["instance,run,second,bandwidth_gbps", *rows]) + "\n")
    return file


def test_instances_are_summarized_by_type(planted: Path, tmp_path: Path) -> None:
    found, page = tmp_path / "found.json", tmp_path / "page.json"
    screen = called(
        str(planted), "--group", "instance,run", "--json", str(found), "--report", str(page)
    )
    small, large = json.loads(found.read_text())["types"]
    assert (small["key"], small["series"], small["kinds"]) == (
        {"instance": "small"}, 4, {"drop": 4},
    )  # fmt: skip
    assert small["high_gbps"]["n"] == 4
    assert small["high_gbps"]["median"] == pytest.approx(8, rel=0.01)
    assert large["high_gbps"]["min"] == pytest.approx(4, rel=0.01)
    assert large["high_gbps"]["median"] == pytest.approx(8, rel=0.01)
    assert large["low_gbps"]["max"] == pytest.approx(2, rel=0.01)
    # One fall does not show a budget.
    assert small["budget_gbit"] is None
    empty = [120 / (high - 2) for high in PLANTED["large"][0]]
    assert large["time_to_empty_s"]["median"] == pytest.approx(np.median(empty), abs=1)
    assert large["time_to_empty_s"]["max"] == pytest.approx(max(empty), abs=1)
    assert "large: time to empty is 20.0 s to 60.0 s in 4 instances of this type." in screen
    assert "In 1 of 2 types, instances are of one kind and every identified quantity" in screen
    saved = json.loads(page.read_text())
    reasons = [one["said"]["text"] for one in saved["entries"] if one["label"] == "Reason"]
    assert reasons
    notes = [f"{note['text']}." for note in saved["notes"]]
    assert notes[: len(reasons)] == reasons
    assert saved["strip"] == [["series", "8"], ["types", "2"]]
    first, *_ = saved["sections"]
    assert [f["name"] for f in first["figures"]] == ["types-high_gbps", "types-time_to_empty_s"]
    assert "0 of 4" in page.read_text()


def test_types_of_which_nothing_is_identified_twice_are_not_called_alike() -> None:
    def summary(name: str, **known: Quartiles) -> TypeSummary:
        none = dict.fromkeys(
            ("high_gbps", "low_gbps", "budget_gbit", "refill_gbps", "time_to_empty_s")
        )
        return TypeSummary(key={"type": name}, series=3, kinds={}, **(none | known))

    once, twice = (Quartiles(n=n, median=8, p25=8, p75=8, min=8, max=8) for n in (1, 2))
    some = [summary("a"), summary("b", high_gbps=once), summary("c", high_gbps=twice)]
    assert args(types.answers(some), "of one kind") == {"n": 1, "of": 1}
    assert args(types.answers(some), "the same type:") == {"types": ["a", "b"]}
    assert [template(one) for one in types.answers(some[:2])] == ["the same type:"]
    mixed = msgspec.structs.replace(some[2], kinds={"bucket": 2, "noisy": 1})
    said = types.answers([mixed])
    assert args(said, ": instances are") == {"type": "c", "kinds": ["2 bucket", "1 noisy"]}
    assert args(said, "of one kind") == {"n": 0, "of": 1}


def test_files_of_one_instance_each_are_instances_of_its_type(
    planted: Path, tmp_path: Path
) -> None:
    head, *rows = planted.read_text().splitlines()
    files = []
    for run in "01":
        files.append(tmp_path / f"{run}.csv")
        some = [row for row in rows if row.startswith("large,") and row.split(",")[1] == run]
        files[-1].write_text("\n".join([head, *some]) + "\n")
    words = ("--value", "bandwidth_gbps", "--time", "second")
    text = called(*map(str, files), *words, "--group", "instance", "--json", "-")
    (one,) = json.loads(text)["types"]
    assert (one["key"], one["series"]) == ({"instance": "large"}, 2)
    # Each file is an instance; without a type, nothing is summarized.
    assert json.loads(called(str(files[0]), *words, "--json", "-"))["types"] == []
