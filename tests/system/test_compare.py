"""``tare compare`` against the real machine: what it finds, writes, refuses and goes on with."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import cli
import pytest

from tare.render.words import text
from tare.results.message import message

pytestmark = pytest.mark.system


def tare(*words: str, check: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    done = cli.run(*words, **options)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def compare(*words: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    return tare("compare", *words, check=check)


def told(*words: str, check: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(compare("--json", "-", *words, check=check).stdout)
    return found


def exported_trials(folder: Path) -> list[dict[str, Any]]:
    done = tare("export", str(folder), "--json", "-", "--table", "trials")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_what_takes_twice_as_long_is_slower() -> None:
    found = told("sleep 0.02", "sleep 0.04")
    (c,) = found["comparisons"]
    assert c["verdict"] == "slower"
    assert c["ratio_ci"][0] > 1
    assert c["metric"] == "wall_ns"
    assert c["n"] == len(c["values"][0]) == len(c["values"][1])
    assert c["looks"][-1]["n"] == c["n"]
    assert found["ended"] == "finished"


def test_the_answer_is_readable_and_says_what_to_type_next() -> None:
    said = compare("sleep 0.02", "sleep 0.04", "--name", "short", "--name", "long").stdout
    verdict = re.search(r"^Verdict +(\w+) is (\w+) than (\w+)", said, re.MULTILINE)
    assert verdict is not None
    assert verdict.groups() == ("long", "slower", "short")
    for word in ("Verdict", "Median", "Effect", "Spread", "(TRUST|DOUBT)", "Next"):
        assert re.search(rf"^{word} ", said, re.MULTILINE), word
    assert "●" in said  # its interval may be narrower than a character
    assert "┼" in said


@pytest.mark.parametrize(
    ("commands", "gate", "code", "result"),
    [
        (("sleep 0.04", "sleep 0.02"), "3%", 0, None),
        (("sleep 0.02", "sleep 0.04"), "3%", 1, "failure"),
        (("sleep 0.02", "sleep 0.02", "sleep 0.04"), "20%", 1, "failure"),
    ],
)
def test_a_gate_answers_by_its_exit_code_and_writes_for_ci(
    commands: tuple[str, ...], gate: str, code: int, result: str | None, tmp_path: Path
) -> None:
    junit, comment = tmp_path / "junit.xml", tmp_path / "comment.md"
    done = compare(
        *commands, "--gate", gate, "--junit", str(junit), "--markdown", str(comment), check=code
    )
    assert "Gate" in done.stdout
    root = Xml.parse(junit).getroot()
    assert root.get("tests") == str(len(commands) - 1)
    assert (root.find(".//failure") is not None) == (result == "failure")
    assert comment.read_text().startswith("### Gate")


def test_a_gate_that_cannot_be_answered_in_time_is_undecided(tmp_path: Path) -> None:
    """Two pairs say nothing, whatever they are."""
    junit = tmp_path / "junit.xml"
    compare("true", "true", "-n", "2", "--gate", "3%", "--junit", str(junit), check=2)
    assert Xml.parse(junit).getroot().find(".//skipped") is not None


def test_a_command_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    done = compare("true", "sh -c 'echo broken >&2; exit 3'", "--output", "pipe", check=15)
    assert "exit" in done.stderr
    assert "broken" in done.stderr
    done = compare("true", "sleep 0.005", "sh -c 'exit 3'", "-n", "12", "--gate", "900%", check=1)
    screen = " ".join(done.stdout.split())
    assert screen.startswith(
        "Gate 900 % fails: all 10 trials of sh failed: sh ended with exit code 3"
    )
    assert re.search(r"^sleep .* slower ", done.stdout, re.MULTILINE)
    junit = tmp_path / "junit.xml"
    slow = "sh -c 'sleep 5'"
    done = compare("true", slow, "sleep 0.001", "-n", "7", "--gate", "900%", "--timeout", "0.1 s",
                   "--junit", str(junit), check=1)  # fmt: skip
    assert "7 of 7 runs of sh exceeded 100 ms" in " ".join(done.stdout.split())
    cases = {one.get("name"): one for one in Xml.parse(junit).getroot().iter("testcase")}
    assert cases["sh vs. true"].find("failure") is not None
    done = compare("sh -c 'exit 1'", "sh -c 'exit 2'", check=15)
    assert "exit code 1" in done.stderr
    assert "exit code 2" in done.stderr


def test_a_gate_that_failed_trials_answer_is_in_every_document(tmp_path: Path) -> None:
    saved, junit, markdown = (tmp_path / name for name in ("c.json", "c.xml", "c.md"))
    done = compare("true", "false", "-n", "6", "--gate", "5%", "--report", str(saved), check=1)
    assert done.stdout.startswith("Gate    5 % fails: all 10 trials of false failed")
    document = json.loads(saved.read_text())
    assert (document["exit_code"], document["error"]) == (1, None)
    assert document["gate"]["answer"] == "fail"
    assert [(one["a"], one["b"], one["gate"]) for one in document["lost"]] == [
        ("true", "false", "fail")
    ]
    tare("report", str(saved), "--junit", str(junit), "--markdown", str(markdown))
    (case,) = Xml.parse(junit).getroot().iter("testcase")
    assert case.get("name") == "false vs. true"
    assert case.find("failure") is not None
    assert markdown.read_text().startswith("### Gate 5 % ❌ fails: all 10 trials of false failed")


#: Fails at every fifth execution, by the number of lines in a file.
FLAKY = "sh -c 'echo >>{0}; [ $(( $(wc -l <{0}) % 5 )) -ne 4 ] || {1}'"


@pytest.mark.parametrize(
    ("fault", "code", "said", "element"),
    [
        ("exit 3", 1, "candidate failed in 3 of 15 trials, base in none", "failure"),
        ("sleep 3", 2, "2 of 12 runs of candidate exceeded 1 s", "skipped"),
    ],
)
def test_a_gate_never_passes_a_candidate_that_newly_fails(
    fault: str, code: int, said: str, element: str, tmp_path: Path
) -> None:
    """Of two killed runs in twelve the interval of the pairs' median has no upper bound."""
    files = {name: tmp_path / name for name in ("json", "junit", "markdown", "report.html")}
    outputs = [f"--{name.partition('.')[0]}={file}" for name, file in files.items()]
    done = compare(
        "sleep 0.01", FLAKY.format(tmp_path / "count", fault), "--name", "base", "--name",
        "candidate", "-n", "12", "--gate", "900%", "--timeout", "1 s", *outputs, check=code,
    )  # fmt: skip
    screen = " ".join(done.stdout.split())
    assert screen.startswith(f"Gate 900 % {'fails' if code == 1 else 'is inconclusive'}: ")
    assert said in screen.partition("Verdict")[0]
    written = json.loads(files["json"].read_text())
    gate = written["gate"]
    assert written["exit_code"] == code
    assert said in gate["reason"]["text"]
    found = Xml.parse(files["junit"]).getroot().find(f".//{element}")
    assert found is not None
    assert said in (found.get("message") or "")
    assert said in files["markdown"].read_text().splitlines()[0].replace("\xa0", " ")
    count = "3 of 15" if code == 1 else "2 of 12"
    assert count in files["report.html"].read_text()
    if code == 2:
        assert "--timeout '2 s'" in done.stdout


def test_the_line_that_a_hint_gives_can_be_typed() -> None:
    done = compare("true", "sleep 0.01 | cat", check=11)
    hint = done.stderr.split("try: tare compare ", 1)[1].partition("   (")[0]
    compare(*shlex.split(hint), "-n", "1")


def test_pairs_share_the_input_of_their_block(tmp_path: Path) -> None:
    out = tmp_path / "out"
    compare(
        "sh -c 'test {seed} -gt 0 && echo {seed}'", "sh -c 'echo {seed}'", "--inputs", "3",
        "-n", "7", "--output", "pipe", "--no-fingerprint", "--out", str(out),
    )  # fmt: skip
    seeds: dict[int, set[int]] = {}
    for trial in exported_trials(out):
        seeds.setdefault(trial["block"], set()).add(trial["seed"])
    assert all(len(some) == 1 for some in seeds.values())
    assert len(set.union(*seeds.values())) == 3


def test_without_inputs_braces_are_the_commands_own() -> None:
    compare("sh -c 'test {a} = \"{a}\"'", "true", "-n", "1")


def test_the_order_in_pairs_is_drawn_anew_each_time(tmp_path: Path) -> None:
    orders = []
    for number in range(2):
        out = tmp_path / str(number)
        compare("true", "true", "-n", "20", "--no-fingerprint", "--out", str(out))
        orders.append([trial["workload"] for trial in exported_trials(out)])
    assert orders[0] != orders[1]


def test_a_comparison_is_kept_reported_and_gone_on_with(tmp_path: Path) -> None:
    out = tmp_path / "out"
    again = (
        "true",
        "sleep 0.002",
        "--name",
        "a",
        "--name",
        "b",
        "--no-fingerprint",
        "--out",
        str(out),
    )
    done = compare(*again)
    page = out / "report.html"
    assert str(page) in done.stdout.replace("\n", "")
    question = text(
        message(
            "Is {levels | listing('or')} different from {reference}?", levels=["b"], reference="a"
        )
    )
    assert question in page.read_text()
    compare(*again, check=14)
    compare(*again, "--resume", "--warmup", "1", check=11)
    compare(*again, "--resume", "--gate", "5%", check=None)
    assert len(list((out / "journal").iterdir())) == 2
    elsewhere = tmp_path / "page.html"
    compare("true", "sleep 0.002", "--no-fingerprint", "--report", str(elsewhere))
    assert elsewhere.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("ending", "code"),
    [(signal.SIGINT, 0), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_an_interruption_keeps_what_can_be_gone_on_with(
    ending: signal.Signals, code: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = [
        "compare",
        "sleep 0.05",
        "sleep 0.05",
        "-n",
        "500",
        "--no-fingerprint",
        "--out",
        str(out),
    ]
    process = cli.start(*words)
    deadline = time.monotonic() + 60
    while not list(out.glob("journal/*.ndjson")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(ending)
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == code
    assert "--resume" in said
    compare(*words[1:3], "-n", "7", "--no-fingerprint", "--out", str(out), "--resume")


QUESTION = """
[experiment]
name = "where"
question = "Does unsharing namespaces cost anything?"
fingerprint = false
compare = "platform"
gate = "900%"
budget = "60 s"
[[workload]]
command = "sleep 0.01"
[factors]
platform = ["bare", "unshare"]
"""


def test_an_experiment_file_can_ask_for_a_comparison(tmp_path: Path) -> None:
    file = tmp_path / "where.toml"
    file.write_text(QUESTION)
    done = tare("experiment", "run", str(file), "--out", str(tmp_path / "out"), check=None)
    if done.returncode == 12:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Gate 900 % passes: unshare vs. bare")
    assert tare("experiment", "report", str(tmp_path / "out")).stdout
    question = "Does unshare pass the gate: at most 900 % slower than bare?"
    assert question in (tmp_path / "out/report.html").read_text()


def test_a_baseline_grows_and_is_compared_only_where_it_fits(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    run = ("run", "-n", "7", "--no-fingerprint", "--save", str(file), "--", "sleep", "0.01")
    assert "needs 4 more" in tare(*run).stdout
    against = ("--no-fingerprint", "--baseline", str(file), "sleep 0.02")
    done = compare(*against, "--gate", "3%", check=2)
    remedy = text(message("measure both versions interleaved: tare compare './old' './new'"))
    assert remedy in " ".join(done.stdout.split())
    for _ in range(4):
        tare(*run)
    found = told(*against)
    (c,) = found["comparisons"]
    assert c["n"] == 5
    assert c["ratio"] > 1
    differs = text(message("{name} was {was} and is {now}", name="warmup", was="0", now="1"))
    assert compare(*against, "--warmup", "1", check=14).stderr.count(differs) == 1
    stored = json.loads(file.read_text())
    stored["sessions"][2]["facts"]["cpu"] = "another"
    file.write_text(json.dumps(stored))
    assert "cpu was another" in compare(*against, "--gate", "3%", check=14).stderr


def test_a_folder_with_sessions_is_a_baseline(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _sessions(out, 5)
    (c,) = told("--no-fingerprint", "--baseline", str(out), "sleep 0.01")["comparisons"]
    assert (c["n"], [len(values) for values in c["values"]]) == (5, [35, 7])


@pytest.mark.slow  # probes the machine three times
def test_the_machine_of_a_folder_and_of_now_are_compared(tmp_path: Path) -> None:
    out = tmp_path / "out"
    # Of the first session it is known what the machine was.
    tare("run", "-n", "7", "--out", str(out), "--", "sleep", "0.01")
    _sessions(out, 4, "--resume")
    # A machine that did change meanwhile is refused as such.
    done = compare("--baseline", str(out), "sleep 0.01", check=None)
    changed = text(message("the machine changed: {changes}", changes=""))
    assert done.returncode == 0 or (done.returncode == 14 and changed in done.stderr), done.stderr


def _sessions(out: Path, count: int, *options: str) -> None:
    for _ in range(count):
        run = ("run", "-n", "7", "--no-fingerprint", "--out", str(out), *options)
        tare(*run, "--", "sleep", "0.01")
        options = ("--resume",)
