"""What is typed after an audit cures what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from inprocess import invoke
from said import template
from steps import brings, command, is_advice

from tare.features.audit.audit import Question, audit
from tare.features.audit.messages import reasons
from tare.features.audit.naming import in_order
from tare.features.audit.next_steps import follow_up
from tare.readers import ColumnOptions

RNG = np.random.default_rng(7)
STEADY = RNG.normal(1, 0.002, 60)
DRIFT = STEADY * np.linspace(1, 1.5, 60)
#: The first fifteen runs take longer.
WARM = STEADY * np.where(np.arange(len(STEADY)) < 15, 1.6, 1)

#: Half of the runs take longer, and a third in the middle do.
SHIFT = STEADY * np.where(np.arange(len(STEADY)) < 30, 1.3, 1)
TWO_SHIFTS = STEADY * np.where(np.arange(len(STEADY)) // 20 == 1, 1.3, 1)

#: Columns that say how the trials belong together, and what is compared.
ROWS, COMPARED = ColumnOptions(trial="row"), ColumnOptions(trial="row", compare=("cmd",))
BLOCKS = ColumnOptions("s", compare=("cmd",), trial="row", block="pair")


def made(folder: Path, *series: np.ndarray) -> Path:
    rows = ["cmd,pair,s"]
    for name, values in zip("ab", series, strict=False):
        rows += [f"{name},{i},{v:.6f}" for i, v in enumerate(values)]
    file = folder / "results.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.mark.parametrize(
    ("series", "columns", "why", "typed"),
    [
        ([DRIFT], ROWS, "disturbed", "tare doctor"),
        ([SHIFT], ROWS, "disturbed", "tare doctor"),
        ([TWO_SHIFTS], ROWS, "disturbed", "tare doctor"),
        ([DRIFT, STEADY], ROWS, "moving", "tare compare 'CMD A' 'CMD B'"),
        ([DRIFT, DRIFT * STEADY], BLOCKS, "disturbed", "tare doctor"),
        ([WARM], ROWS, "warm_up", "tare audit results.csv --steady"),
        ([WARM, STEADY], ROWS, "warm_up", "tare audit results.csv --steady"),
        ([STEADY[:4]], ROWS, "few", "tare run --precision 5% -- CMD"),
        ([STEADY], ColumnOptions(), "trials", "tare audit results.csv --trial row"),
        ([STEADY, STEADY], ROWS, "compare", "tare audit results.csv --compare cmd"),
        ([STEADY, STEADY], COMPARED, "paired", "tare compare 'CMD A' 'CMD B'"),
        ([STEADY, STEADY], BLOCKS, "page", "tare audit results.csv --report audit.html"),
        ([STEADY[:8]], ROWS, "page", "tare audit results.csv --report audit.html"),
        (
            [1 + 100 * (STEADY - 1)],
            ROWS,
            "precise",
            "tare run --precision 5% -- CMD",
        ),
    ],
)
def test_the_next_command_cures_what_was_found(
    series: list[np.ndarray],
    columns: ColumnOptions,
    why: str,
    typed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "audit", "results.csv"])
    columns = ColumnOptions("s", columns.group, columns.compare, None, columns.trial, columns.block)
    found = follow_up(audit([made(tmp_path, *series)], Question(columns=columns)), has_page=False)
    assert is_advice(found) == ("CMD" in typed)
    assert (brings(found), command(found)) == (
        {
            "command": "{command}   ({why})",
            "compare": "what differs?",
            "disturbed": "what disturbs this",
            "few": "as often as",
            "moving": "what changes over",
            "page": "same as a",
            "paired": "both in pairs,",
            "precise": "median is known",
            "trials": "that names it",
            "warm_up": "the first runs",
        }[why],
        typed,
    )


def test_commands_that_a_file_has_are_named(tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    results = [{"command": one, "times": list(DRIFT)} for one in ("sleep 1", "sleep 2")]
    file.write_text(json.dumps({"results": results}))
    found = follow_up(audit([file], Question()), has_page=True)
    assert found.command == "tare compare 'sleep 1' 'sleep 2'"


def test_each_of_several_commands_is_measured_to_the_precision(tmp_path: Path) -> None:
    wide = [list(1 + 100 * (x - 1)) for x in (STEADY, RNG.normal(1, 0.002, 60))]
    results = [
        {"command": one, "times": times}
        for one, times in zip(("sleep 1", "sleep 2"), wide, strict=True)
    ]
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": results}))
    found = follow_up(audit([file], Question()), has_page=True)
    # About 170 runs of 1 s, and 50 of 2 s.
    assert command(found) == (
        "tare run --precision 5% --budget '5 min' -- sleep 1; "
        "tare run --precision 5% --budget '2 min' -- sleep 2"
    )


@pytest.mark.parametrize(
    ("commands", "typed"),
    [
        (["sleep 1"], "tare run --precision 5% -- sleep 1"),
        (["seq 9 | wc -l"], "tare run --precision 5% --shell sh 'seq 9 | wc -l'"),
        (["X=1 sleep 1"], "tare run --precision 5% --shell sh 'X=1 sleep 1'"),
        (["(cd /; ls)"], "tare run --precision 5% --shell sh '(cd /; ls)'"),
        (["((ls))"], "tare run --precision 5% --shell sh '((ls))'"),
        (["! ls"], "tare run --precision 5% --shell sh '! ls'"),
        (['X="a b" Y= sleep 1'], """tare run --precision 5% --shell sh 'X="a b" Y= sleep 1'"""),
        # The shell's own commands.
        (["exec sleep 1"], "tare run --precision 5% --shell sh 'exec sleep 1'"),
        (["export X=1"], "tare run --precision 5% --shell sh 'export X=1'"),
        (["cd /"], "tare run --precision 5% --shell sh 'cd /'"),
        # Names, in place of the command.
        (["my bench"], "tare run --precision 5% -- CMD"),
        (["fixed (n=1)"], "tare run --precision 5% -- CMD"),
        (["sort (new)"], "tare run --precision 5% -- CMD"),
        (["my bench | wc"], "tare run --precision 5% -- CMD"),
        (["don't"], "tare run --precision 5% -- CMD"),
        (["~no-such-user/x"], "tare run --precision 5% -- CMD"),
        ([f"sleep {'1' * 200_000}"], "tare run --precision 5% -- CMD"),
        (["X='a b' ./missing"], "tare run --precision 5% -- CMD"),
        (["X=$(echo sleep 1) ./missing"], "tare run --precision 5% -- CMD"),
        (['X=$(echo $(date; echo "a)" b)) ls'], "tare run --precision 5% -- CMD"),
        (
            ["seq 9 | wc -l", "sleep 1"],
            "tare run --precision 5% --shell sh 'seq 9 | wc -l'; "
            "tare run --precision 5% -- sleep 1",
        ),
        (["fixed (n=1)", "my bench"], None),
        (["sleep 1", "my bench"], None),
    ],
)
def test_commands_that_are_proposed_can_be_run(
    commands: list[str], typed: str | None, tmp_path: Path
) -> None:
    wide = list(1e-3 * (1 + 100 * (STEADY - 1)))
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": [{"command": c, "times": wide} for c in commands]}))
    found = follow_up(audit([file], Question()), has_page=True)
    assert is_advice(found) == (typed is None or "CMD" in typed)
    if typed is None:
        assert template(found) == "measure each with"
    else:
        assert command(found) == typed


def test_what_a_trial_is_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "audit", "results.csv"])
    question = Question(columns=ColumnOptions("s", ("cmd",)))
    found = audit([made(tmp_path, DRIFT, STEADY)], question)
    assert template(follow_up(found, has_page=True).brings) == "that names it"
    assert template(reasons(found)[0][1].said) == "row is an"


@pytest.mark.parametrize(
    ("header", "row", "command"),
    [
        ("threads,s", "{n},{s}", "--value s --group threads"),
        ("algo,threads,s", "{algo},{n},{s}", "--value s --group algo,threads"),
        (
            "round,algo,s",
            "{round},{algo},{s}",
            "--value s --compare algo --block round --trial row",
        ),
    ],
)
def test_columns_that_separate_or_pair_come_before_each_row_as_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, row: str, command: str
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "audit", "r.csv", "--value", "s"])
    file = tmp_path / "r.csv"
    rows = [
        row.format(n=2 ** (i // 20), algo="ab"[i % 2], round=i // 2, s=f"{v:.6f}")
        for i, v in enumerate(STEADY)
    ]
    file.write_text("\n".join([header, *rows]) + "\n")
    found = follow_up(audit([file], Question(columns=ColumnOptions("s"))), has_page=False)
    assert found.command == f"tare audit r.csv {command}"


def test_a_column_of_text_that_a_comparison_pools_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "audit", "r.csv", "--compare", "solver"])
    rows = [
        f"{'AB'[i % 2]},i{i // 16},{i // 2 % 8},{v * 2 ** (i // 16):.6f}"
        for i, v in enumerate(STEADY[:48])
    ]
    file = tmp_path / "r.csv"
    file.write_text("\n".join(["solver,instance,run,s", *rows]) + "\n")
    found = audit([file], Question(columns=ColumnOptions("s", compare=("solver",))))
    command = follow_up(found, has_page=False).command
    assert command == "tare audit r.csv --compare solver --group instance"


def test_where_every_run_failed_next_is_why(tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    results = [{"command": "sleep x", "times": [0.1] * 8, "exit_codes": [1] * 8}]
    file.write_text(json.dumps({"results": results}))
    found = follow_up(audit([file], Question()), has_page=False)
    assert found.command == "tare run -n 1 -- sleep x"


def test_where_every_run_of_one_command_failed_next_is_why(tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    good = {"command": "sleep 1", "times": STEADY[:20].tolist(), "exit_codes": [0] * 20}
    bad = {"command": "sleep x", "times": [0.1] * 8, "exit_codes": [1] * 8}
    file.write_text(json.dumps({"results": [good, bad]}))
    found = follow_up(audit([file], Question()), has_page=False)
    assert found.command == "tare run -n 1 -- sleep x"


def test_a_tool_of_functions_is_run_again_and_not_replaced(tmp_path: Path) -> None:
    runs = [
        {"values": [float(v)], "metadata": {"date": f"2026-01-01 00:00:{i:02}.0"}}
        for i, v in enumerate(DRIFT)
    ]
    document = {
        "version": "1.0",
        "benchmarks": [{"runs": runs, "metadata": {"name": name}} for name in ("f", "g")],
    }
    file = tmp_path / "p.json"
    file.write_text(json.dumps(document))
    found = follow_up(audit([file], Question()), has_page=False)
    assert is_advice(found)
    assert (brings(found), "pyperf" in command(found)) == ("two versions", False)
    assert found.args["placeholders"] == ["old", "new", "BENCHMARK.py"]
    assert '(cd "$v" && python BENCHMARK.py -p 1 -o run$i.json)' in command(found)


@pytest.mark.parametrize("line", ["sleep *", "sleep {1,2}", "echo ~", "echo a#b", "echo !x"])
def test_what_a_shell_expands_is_given_to_a_shell(tmp_path: Path, line: str) -> None:
    times = list(np.random.default_rng(1).normal(1, 0.3, 20))
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": [{"command": line, "times": times}]}))
    found = follow_up(audit([file], Question()), has_page=True)
    assert found.command.endswith(f"--shell sh '{line}'")


def test_files_that_hold_this_answer_are_not_written_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path, STEADY, STEADY)
    words = ["audit", "results.csv", "--value", "s", "--json=a.json", "--report", "a.html"]
    words += ["--trial", "row"]
    monkeypatch.setattr("sys.argv", ["tare", *words])
    invoke(*words)
    (step,) = json.loads(Path("a.json").read_text())["next_steps"]
    assert step["command"] == "tare audit results.csv --value s --trial row --compare cmd"


def test_a_single_series_with_its_page_has_no_next(tmp_path: Path) -> None:
    found = audit([made(tmp_path, STEADY)], Question(columns=ROWS))
    assert found.verdict == "TRUST"
    assert follow_up(found, has_page=True) is None


def test_one_command_in_two_files_is_measured_once(tmp_path: Path) -> None:
    names = []
    for name in ("a", "b"):
        times = list(RNG.normal(1e-3, 3e-4, 20))
        names.append(tmp_path / f"{name}.json")
        names[-1].write_text(json.dumps({"results": [{"command": "sleep 1", "times": times}]}))
    found = follow_up(audit(names, Question()), has_page=False)
    assert command(found) == "tare run --precision 5% -- sleep 1"


@pytest.mark.parametrize(
    ("commands", "there", "typed"),
    [
        (("sleep 1", "sleep 2"), True,
         "hyperfine --export-json hyperfine-2.json 'sleep 1' 'sleep 2'; "
         "tare audit hyperfine-2.json"),
        (("my bench", "sleep 2"), True,
         "hyperfine --export-json hyperfine-2.json CMD; tare audit hyperfine-2.json"),
        (("sleep 1", "sleep 2"), False,
         "hyperfine --export-json hyperfine-2.json 'sleep 1' 'sleep 2'; "
         "tare audit hyperfine-2.json"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("median", ["median,", ""])
def test_statistics_of_hyperfine_are_no_trials(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commands: tuple[str, ...],
    there: bool,
    typed: str,
    median: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hyperfine.json").write_text("{}")
    where = {"hyperfine": "/usr/bin/hyperfine" if there else None, "my": None}
    monkeypatch.setattr(
        "tare.features.audit.next_steps.shutil.which", lambda word: where.get(str(word), word)
    )
    file = Path("h.csv")
    number = "1.0," if median else ""
    rows = [f"{one},1.0,0.1,{number}1.0,0.0,0.9,1.1" for one in commands]
    file.write_text("\n".join([f"command,mean,stddev,{median}user,system,min,max", *rows]) + "\n")
    found = audit([file], Question())
    assert found.verdict == "REJECT"
    assert [one.kind for one in found.series[0].trust.grounds] == ["summary"]
    step = follow_up(found, has_page=False)
    assert command(step) == typed
    assert is_advice(step) == ("CMD" in typed or not there)


def test_levels_that_are_numbers_are_sorted_as_numbers() -> None:
    rows = [{"cores": n, "platform": p} for p in ("vm", "bare") for n in ("16", "2", "4")]
    found = in_order(rows, dict)
    assert [row["cores"] for row in found] == ["2", "2", "4", "4", "16", "16"]
    assert [row["platform"] for row in found] == ["vm", "bare"] * 3
