"""What is typed after an audit cures what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from said import template

from tare.features.audit.audit import Question, audit
from tare.features.audit.messages import reasons
from tare.features.audit.naming import in_order
from tare.features.audit.next_steps import follow_up
from tare.readers import ColumnOptions
from tare.results.message import Message

RNG = np.random.default_rng(7)
STEADY = RNG.normal(1, 0.002, 60)
DRIFT = STEADY * np.linspace(1, 1.5, 60)
#: The first fifteen runs take longer.
WARM = STEADY * np.where(np.arange(len(STEADY)) < 15, 1.6, 1)

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
    ("series", "columns", "why", "command"),
    [
        ([DRIFT], ROWS, "disturbed", "tare doctor"),
        ([DRIFT, STEADY], ROWS, "moving", "tare compare 'CMD A' 'CMD B'"),
        ([DRIFT, DRIFT * STEADY], BLOCKS, "disturbed", "tare doctor"),
        ([WARM], ROWS, "warm_up", "tare audit results.csv --steady"),
        ([WARM, STEADY], ROWS, "warm_up", "tare audit results.csv --steady"),
        ([STEADY[:4]], ROWS, "few", "tare run -- CMD"),
        ([STEADY], ColumnOptions(), "trials", "tare audit results.csv --trial row"),
        ([STEADY, STEADY], ROWS, "compare", "tare audit results.csv --compare cmd"),
        ([STEADY, STEADY], COMPARED, "paired", "tare compare 'CMD A' 'CMD B'"),
        ([STEADY, STEADY], BLOCKS, "page", "tare audit results.csv --report audit.html"),
        ([STEADY[:8]], ROWS, "page", "tare audit results.csv --report audit.html"),
        ([1 + 100 * (STEADY - 1)], ROWS, "precise", "tare run --precision 5% -- CMD"),
    ],
)
def test_the_next_command_cures_what_was_found(
    series: list[np.ndarray],
    columns: ColumnOptions,
    why: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "audit", "results.csv"])
    columns = ColumnOptions("s", columns.group, columns.compare, None, columns.trial, columns.block)
    found = follow_up(audit([made(tmp_path, *series)], Question(columns=columns)), has_page=False)
    assert (template(found.brings), found.command) == (
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
        command,
    )


def test_commands_that_a_file_has_are_named(tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    results = [{"command": one, "times": list(DRIFT)} for one in ("sleep 1", "sleep 2")]
    file.write_text(json.dumps({"results": results}))
    found = follow_up(audit([file], Question()), has_page=True)
    assert found.command == "tare compare 'sleep 1' 'sleep 2'"


def test_runs_of_several_commands_are_one_command(tmp_path: Path) -> None:
    wide = [list(1 + 100 * (x - 1)) for x in (STEADY, RNG.normal(1, 0.002, 60))]
    results = [
        {"command": one, "times": times}
        for one, times in zip(("sleep 1", "sleep 2"), wide, strict=True)
    ]
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": results}))
    made_ = audit([file], Question())
    found = follow_up(made_, has_page=True)
    needed = max(s.runs_needed or 0 for s in made_.series)
    assert found.command == f"tare run --trials {needed} 'sleep 1' 'sleep 2'"


@pytest.mark.parametrize(
    ("commands", "command"),
    [
        (["sleep 1"], "tare run --precision 5% -- sleep 1"),
        (["seq 9 | wc -l"], "tare run --precision 5% --shell sh 'seq 9 | wc -l'"),
        (["my bench"], "tare run --precision 5% -- CMD"),  # a name, in place of the command
        (
            ["seq 9 | wc -l", "sleep 1"],
            "tare run --trials {n} --shell sh 'seq 9 | wc -l' 'sleep 1'",
        ),
        (["true", "sleep 1"], "tare run --trials {n} --shell none true 'sleep 1'"),
        (["fixed (n=1)", "my bench"], None),
    ],
)
def test_commands_that_are_proposed_can_be_run(
    commands: list[str], command: str | None, tmp_path: Path
) -> None:
    wide = list(1 + 100 * (STEADY - 1))
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": [{"command": c, "times": wide} for c in commands]}))
    made_ = audit([file], Question())
    found = follow_up(made_, has_page=True)
    needed = max(s.runs_needed or 0 for s in made_.series)
    if command is None:
        assert isinstance(found, Message)
        assert "my bench" not in str(found.args)
    else:
        assert found.command == command.format(n=needed)


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
    assert (template(found.brings), "pyperf" in found.command) == ("old and new", False)
    assert '(cd "$v" && python BENCHMARK.py -p 1 -o run$i.json)' in str(found.command)


@pytest.mark.parametrize("command", ["sleep *", "sleep {1,2}", "echo ~", "echo a#b", "echo !x"])
def test_what_a_shell_expands_is_given_to_a_shell(tmp_path: Path, command: str) -> None:
    times = list(np.random.default_rng(1).normal(1, 0.3, 20))
    file = tmp_path / "h.json"
    file.write_text(json.dumps({"results": [{"command": command, "times": times}]}))
    found = follow_up(audit([file], Question()), has_page=True)
    assert str(found.command).endswith(f"--shell sh '{command}'")


def test_levels_that_are_numbers_are_sorted_as_numbers() -> None:
    rows = [{"cores": n, "platform": p} for p in ("vm", "bare") for n in ("16", "2", "4")]
    found = in_order(rows, dict)
    assert [row["cores"] for row in found] == ["2", "2", "4", "4", "16", "16"]
    assert [row["platform"] for row in found] == ["vm", "bare"] * 3
