"""Names that a shell would obey: in a command that is proposed, each is one word."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import inprocess
import pytest

from tare.errors import TareError, Typed

TASKS = """
[experiment]
name = "t"
[tasks]
files = ["{pattern}"]
timeout = "10 s"
[[workload]]
command = ["true"]
"""


def lines(output: str) -> list[list[str]]:
    """Return the words of each command that is proposed."""
    found = (one.partition(" ") for one in output.splitlines())
    return [
        shlex.split(words.partition("   (")[0])
        for label, _, words in found
        if label in ("Next:", "Next")
    ]


def hinted(*words: str) -> list[str]:
    """Return the words of the command that an error proposes."""
    refused = inprocess.invoke(*words).exception
    assert isinstance(refused, TareError)
    assert isinstance(refused.hint, Typed)
    return shlex.split(refused.hint.command)


@pytest.mark.parametrize("name", ["j;touch PWN", "$(touch PWN)", "a b", "it's", "-d"])
def test_a_file_is_one_word_of_what_is_proposed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = f"./{name}" if name.startswith("-") else name
    saved = Path(f"{name}.json").absolute()
    values = {"results": [{"command": "true", "times": [1.0, 1.01, 1.02] * 4}]}
    Path("h.json").write_text(json.dumps(values))
    assert inprocess.invoke("audit", "h.json", f"--report={saved}").exit_code < 10
    [shown] = lines(inprocess.invoke("report", typed + ".json").stdout)
    assert shown[:2] == ["tare", "report"]
    assert Path(shown[2]).absolute() == saved

    Path(f"{name}.toml").write_text(TASKS.format(pattern="x; touch PWN #"))
    run = hinted("experiment", "run", typed + ".toml")
    assert run[:3] == ["tare", "tasks", "run"]
    assert len(run) == 4
    assert hinted("tasks", "run", typed + ".toml") == ["ls", "x; touch PWN #"]


def test_commands_of_a_saved_report_are_not_proposed_as_those_of_tare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    values = {"results": [{"command": "true", "times": [1.0, 1.01, 1.02] * 4}]}
    Path("h.json").write_text(json.dumps(values))
    inprocess.invoke("audit", "h.json", "--report", "saved.json")
    document = json.loads(Path("saved.json").read_text())
    document["next_steps"] = [{"command": "tare run -- true\ntouch PWN", "brings": None}]
    Path("saved.json").write_text(json.dumps(document))
    assert "PWN" not in inprocess.invoke("report", "saved.json").output
