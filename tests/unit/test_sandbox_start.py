"""What a sandbox that starts programs reports: read, checked, and never believed blindly."""

from __future__ import annotations

import base64
import json

import pytest

from tare.agent import record
from tare.errors import AgentError
from tare.experiment.session import sandbox_start
from tare.experiment.session.printed import Printed
from tare.platforms import Starter, box_file

STARTER = Starter(
    words=("isolate", "--box-id=900", "--meta=-"),
    variable="--env=",
    directory="--chdir=",
    agent="/tare/tare-agent",
    shared="/shared",
    source="isolate",
    read=box_file.program,
    read_failure=box_file.failure,
)
REPORT = "time:0.020\ntime-wall:0.031\nmax-rss:2\nexitcode:0\n"
TIMES = json.dumps({"wall_ns": 19_000_000, "cpu_ns": 18_000_000})


def taken(out: str) -> Printed:
    """Take what an execution wrote."""
    printed = Printed(1 << 20, lambda *_: None)
    printed.add(
        record.Sample(
            id=1, trial=7, worker=1, iteration=2, phase="warmup",
            metric="wall_ns", source="around", value=1,
        )
    )  # fmt: skip
    data = base64.b64encode(out.encode()).decode()
    printed.add(record.Output(id=1, trial=7, worker=1, iteration=2, stream="out", data=data))
    return printed


def reported(out: str, *, kernel: bool) -> dict[tuple[str, str], float]:
    """Return the value by metric and source of an execution that wrote ``out``."""
    found = sandbox_start.samples(taken(out), STARTER, 7, kernel=kernel)
    assert {(s.trial, s.worker, s.iteration, s.phase) for s in found} == {(7, 1, 2, "warmup")}
    return {(s.metric, s.source): s.value for s in found}


ISOLATES = {
    ("cpu_ns", "isolate"): 20_000_000,
    ("wall_ns", "isolate"): 31_000_000,
    ("memory_bytes", "isolate"): 2048,
}


def test_both_the_sandbox_and_a_kernel_report() -> None:
    own = {("wall_ns", "self"): 19_000_000, ("cpu_ns", "self"): 18_000_000}
    assert reported(f"{TIMES}\n{REPORT}", kernel=True) == ISOLATES | own


def test_lines_that_a_program_forges_come_before_the_report() -> None:
    assert reported(f"time:0.001\ntime-wall:0\nmax-rss:1\n{REPORT}", kernel=False) == ISOLATES


@pytest.mark.parametrize(
    ("out", "why"),
    [
        (f"{TIMES}\n", "isolate did not report"),
        (REPORT, "did not print its times"),
        (f"{TIMES[:-4]}\n{REPORT}", "did not print its times"),
        (f'{{"wall_ns": -1}}\n{REPORT}', "no kernel takes"),
        (f'{{"wall_ns": {10**40}}}\n{REPORT}', "did not print its times"),
    ],
)
def test_what_is_missing_or_impossible_fails_the_trial(out: str, why: str) -> None:
    with pytest.raises(AgentError, match=why):
        reported(out, kernel=True)


def test_a_command_keeps_its_words_and_gets_its_environment_by_options() -> None:
    command = record.Command(
        argv=("/opt/prog", "--meta=mine", "a b"), environment={"PATH": "/opt", "X": "1 2"},
        directory="/data", input="/data/in", capture=None, ignored_exits=(3,),
    )  # fmt: skip
    made = sandbox_start.launched(command, STARTER, {"PATH": "/usr/bin", "SECRET": "s"})
    assert made.argv == (
        "isolate", "--box-id=900", "--meta=-", "--stdout=/dev/null", "--env=PATH=/opt",
        "--env=X=1 2", "--chdir=/data", "--run", "--", "/opt/prog", "--meta=mine", "a b",
    )  # fmt: skip
    assert (made.environment, made.directory, made.input) == (
        {"PATH": "/usr/bin"},
        None,
        "/data/in",
    )
    assert made.ignored_exits == (3,)


@pytest.mark.parametrize(
    ("report", "end"),
    [
        ("exitcode:3\nstatus:RE\n", "exit code 3"),
        ("exitcode:0\nstatus:SG\nexitsig:9\n", "signal 9"),
        ("status:TO\nkilled:1\n", "isolate's time limit"),
        ("exitcode:0\n", None),
        ("exitcode:1e9\nexitsig:x\n", None),
    ],
)
def test_a_failure_names_how_the_program_ended(report: str, end: str | None) -> None:
    printed = taken(f"time:0.020\n{report}")
    found = sandbox_start.program_failure(printed, STARTER, "./prog")
    assert found == (None if end is None else f"./prog ended with {end} (isolate)")
