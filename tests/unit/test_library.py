"""`tare.run`, `tare.compare` and `tare.audit`: what the commands do, from Python."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli import TARE

import tare
from tare.errors import ExperimentError, InputError, TareError, TrialError, Typed, UsageError
from tare.features.audit.command import AuditOptions
from tare.features.measure.compare.options import CompareOptions
from tare.features.measure.run.options import RunOptions
from tare.library import options

#: Options of output, or of files that only the command line writes; ``kappa`` is another question.
_OF_OUTPUT = {
    "report", "markdown", "json", "junit", "export_json", "save", "baseline",
    "command", "commands", "files", "kappa", "quiet",
    # Several values of a parameter, or commands, make a table: tare.compare.
    "parameter_scan", "parameter_step_size", "parameter_list", "bisect",
}  # fmt: skip
_CSV = "run,wall_s,tool\n" + "".join(
    f"{i},{1 + 0.01 * (i * 7919 % 13):.4f},{'ab'[i % 2]}\n" for i in range(60)
)


@pytest.mark.parametrize(
    ("known", "command"),
    [
        (options.RunOptions, RunOptions),
        (options.CompareOptions, CompareOptions),
        (options.AuditOptions, AuditOptions),
    ],
)
def test_options_have_the_names_of_the_command(known: Any, command: Any) -> None:
    of_command = {name.rstrip("_") for name in command.records}
    assert set(known.__annotations__) == of_command - _OF_OUTPUT


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("budget", 2, 2.0),
        ("budget", 1e-7, 1e-7),
        ("budget", "4 min", 240.0),
        ("precision", 0.02, 0.02),
        ("precision", "2%", 0.02),
        ("quantile", 0.99, 0.99),
        ("quantile", "p99", 0.99),
        ("metric", "cpu", ["cpu"]),
        ("metric", ("wall", "cpu"), ["wall", "cpu"]),
        ("ignore_failure", True, ()),
        ("ignore_failure", [1, 2], (1, 2)),
        ("ignore_failure", False, None),
        ("set", {"preset": "fast", "two_pass": True}, ["preset=fast", "two_pass=true"]),
        ("trials", np.int64(7), 7),
        ("out", "folder", Path("folder")),
    ],
)
def test_values_become_those_of_the_command(name: str, value: object, typed: object) -> None:
    known = options.RunOptions.__annotations__
    found = options.parsed("run", {name: value}, known, RunOptions)
    assert getattr(found, "set_" if name == "set" else name) == typed
    assert found.size == "all", "an option that is not given has the command's default"


@pytest.mark.parametrize(
    "wrong",
    [
        {"trials": 0}, {"trials": True}, {"trials": 2.5}, {"trials": "5"}, {"budget": None, "x": 1},
        {"budget": float("nan")}, {"budget": True}, {"budget": [1]}, {"precision": float("inf")},
        {"metric": 3}, {"metric": [3]}, {"out": 7}, {"out": b"x"}, {"resume": 1}, {"set": "a=1"},
        {"ignore_failure": "all"}, {"ignore_failure": []}, {"ignore_failure": [-1]}, {"workers": 0},
        {"warmup": -1}, {"input": 0}, {"size": 2}, {"quantile": [0.5]},
        {"platform": ["bare", "unshare"]}, {"precision": 5},
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused_before_anything_is_measured(
    wrong: dict[str, Any],
) -> None:
    with pytest.raises(UsageError) as refused:
        tare.run("true", **wrong)
    assert refused.value.hint


@pytest.mark.parametrize("command", [5, [], [5], b"true", {"a": 1}, ["true", None]])
def test_what_is_no_command_is_refused(command: Any) -> None:
    with pytest.raises(UsageError):
        tare.run(command)


def test_errors_show_the_beginning_of_values_alone() -> None:
    many: Any = [1.0] * 20_000
    for refused in (lambda: tare.audit(many), lambda: tare.run([many])):
        with pytest.raises(UsageError) as error:
            refused()
        assert len(str(error.value)) < 200
    with pytest.raises(UsageError) as error:
        tare.audit(np.ones(9))  # type: ignore[arg-type]
    assert "tare.statistics" in str(error.value.hint)


def test_commands_are_needed() -> None:
    with pytest.raises(UsageError, match="no command"):
        tare.run()
    with pytest.raises(UsageError, match="two commands"):
        tare.compare("true")
    with pytest.raises(UsageError, match="no file"):
        tare.audit()


@pytest.mark.parametrize(
    ("message", "hint", "expected"),
    [
        ("--budget is too short", "--budget 90s", ("budget is too short", 'budget="90s"')),
        ("x", "--output FILE keeps it", ("x", 'output="FILE" keeps it')),
        ("x", Typed("-n 20   (or more)"), ("x", "trials=20   (or more)")),
        ("x", Typed("--budget '3 s' --gate 2%"), ("x", "--budget '3 s' --gate 2%")),
        ("x", "--name names it", ("x", "name names it")),
        ("x", Typed("tare run --budget 3s"), ("x", "tare run --budget 3s")),
        ("--as-root --ignore-failure", None, ("as_root ignore_failure", None)),
        ("--budgets", "--out-of", ("--budgets", "--out-of")),
    ],
)
def test_errors_name_keyword_arguments(
    message: str, hint: str | None, expected: tuple[str, str | None]
) -> None:
    found = options.in_keywords(
        TareError(message, hint), options.RunOptions.__annotations__, RunOptions
    )
    assert (str(found), found.hint) == expected


def test_a_text_that_is_no_quantity_is_refused_as_the_command_line_does() -> None:
    with pytest.raises(ExperimentError, match=r"^budget '2 x' has no unit"):
        tare.run("true", budget="2 x")


def test_errors_of_a_gate_name_keyword_arguments() -> None:
    with pytest.raises(ExperimentError, match=r"^gate_on needs gate, and") as refused:
        tare.compare("true", "false", gate_on="p95")
    assert refused.value.hint == 'gate="3%"'
    with pytest.raises(ExperimentError, match=r"and trials asks for 5\n") as refused:
        tare.compare("true", "false", gate=0.03, gate_on="p95", trials=5)
    assert refused.value.hint == "trials=120   (or more)"
    with pytest.raises(ExperimentError, match=r"no platform layer 'dokcer'\n") as refused:
        tare.run("true", platform="dokcer")
    assert refused.value.hint == "did you mean 'docker'?"


@pytest.mark.system
def test_run_gives_values_and_json_of_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    found = tare.run(["sleep", "0.01"], trials=8)
    assert capfd.readouterr() == ("", "")
    assert (found.n, found.failed, found.unit, found.metric) == (8, 0, "s", "wall_ns")
    assert found.values.shape == (8,)
    assert 0.01 <= found.values.min() <= found.median <= found.values.max()
    assert found.interval is not None
    low, high = found.interval
    assert low <= found.median <= high
    told = found.to_dict()
    assert told["summary"]["median_s"] == found.median
    assert json.loads(found.to_json()) == told
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.ended = "never"  # type: ignore[misc]
    assert "\n" not in repr(found)
    assert repr(found).startswith("<RunResult: sleep 0.01: ")
    asked = [*TARE, "run", "-n", "8", "--json", "-", "--", "sleep", "0.01"]
    printed = subprocess.run(asked, capture_output=True, check=True, text=True).stdout
    # Whether there is a reason to doubt the median differs between measurements.
    keys = [
        {key for key in _keys(one) if ".trust.reasons" not in key}
        for one in (json.loads(printed), told)
    ]
    assert keys[0] == keys[1]


@pytest.mark.system
def test_compare_gives_a_verdict_and_json_of_the_command() -> None:
    found = tare.compare("sleep 0.01", ["sleep", "0.02"], trials=10, gate=0.05, seed=1)
    (only,) = found.comparisons
    (told,) = found.to_dict()["comparisons"]
    # The load of the machine decides how conclusive it is.
    assert found.verdict.partition(" (")[0] == told["verdict"]
    assert (found.gate, only.gate) == (found.to_dict()["gate"]["answer"], told["gate"])
    first, second = only.values
    assert len(first) == len(second) == only.n == 10
    assert only.medians == (pytest.approx(np.median(first)), pytest.approx(np.median(second)))
    assert [*(only.interval or (None, None))] == told["ratio_ci"]
    assert found.ratio == told["ratio"]
    assert first.tolist() == [ns / 1e9 for ns in told["values"][0]]
    asked = [
        *TARE, "compare", "-n", "10", "--gate", "5%", "--json", "-", "sleep 0.01", "sleep 0.02",
    ]  # fmt: skip
    printed = subprocess.run(asked, capture_output=True, check=False, text=True).stdout
    assert _keys(json.loads(printed)) == _keys(found.to_dict())


def _keys(value: Any, at: str = "") -> set[str]:
    """Return the paths of all keys; facts and statements may differ by run."""
    if at.endswith(("facts", "disturbance", "sources", ".next_steps", ".entries", ".notes")):
        return {at}
    if isinstance(value, list):
        return _keys(value[0], f"{at}[]") if value else set()
    if not isinstance(value, dict):
        return {at}
    return {at}.union(*(_keys(one, f"{at}.{key}") for key, one in value.items()))


def test_audit_writes_what_the_command_writes(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text(_CSV)
    found = tare.audit(file, value="wall_s", trial="run", compare="tool", precision=0.5)
    asked = [
        *TARE, "audit", str(file), "--value", "wall_s", "--trial", "run", "--compare", "tool",
        "--precision", "50%", "--json", "-",
    ]  # fmt: skip
    printed = subprocess.run(asked, capture_output=True, check=False, text=True)
    own, told = found.to_dict(), json.loads(printed.stdout)
    # A program has no command line to repeat.
    assert own.pop("next_steps") == []
    del told["next_steps"]
    assert own == told
    assert found.exit_code == printed.returncode
    assert [one.name for one in found.series] == ["a", "b"]
    for one, told in zip(found.series, found.to_dict()["series"], strict=True):
        assert (one.median, one.n, one.verdict) == (told["median"], told["n"], told["verdict"])
        assert list(one.interval or ()) == told["median_ci"]
        assert np.median(one.values) == pytest.approx(one.median)
    assert found.verdict == found.audit.verdict
    assert found.extent == max(one.extent for one in found.series if one.extent is not None)


def test_a_notebook_shows_names_as_text(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text(_CSV.replace(",a\n", ",<script>alert(1)</script>\n"))
    found = tare.audit(file, value="wall_s", trial="run", compare="tool")
    shown = found._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    page = found.write(tmp_path / "page.html")
    assert "<script>alert" not in page.read_text()


@pytest.mark.system
def test_a_notebook_shows_the_verdict_with_its_reasons_and_the_gate() -> None:
    few = tare.run(["sleep", "0.001"], trials=3)
    assert f"<b>REJECT</b>: {few.reasons[0]}" in few._repr_html_()
    gated = tare.compare("sleep 0.001", "sleep 0.02", trials=6, gate="5%")
    assert gated.gate == "fail"
    said = "<b>fail</b>: sleep 0.02 is slower than sleep 0.001 by more than"
    assert said in gated._repr_html_()


def test_a_traceback_shows_what_to_do() -> None:
    error = TareError("full", "df .")
    assert traceback.format_exception(error)[-2:] == [
        "tare.errors.TareError: full\n",
        "hint: df .\n",
    ]
    error.hint = "rm x"
    assert "df" not in "".join(traceback.format_exception(error))
    error.hint = None
    assert traceback.format_exception(error) == ["tare.errors.TareError: full\n"]


@pytest.mark.system
def test_a_failure_raises_what_to_do_and_keeps_what_was_measured() -> None:
    with pytest.raises(TrialError, match="not found"):
        tare.run(["no-such-program"])
    with pytest.raises(TrialError) as failed:
        tare.run("false", trials=3)
    kept = 'keep what it wrote with output="FILE"'
    assert failed.value.hint == f"{kept}; ignore_failure accepts any exit code"
    lost = tare.compare("true", "false", trials=5, gate=0.05)
    assert (lost.gate, lost.comparisons) == ("fail", ())
    with pytest.raises(InputError):
        tare.audit("no-such-file.json")


@pytest.mark.system
def test_what_was_measured_of_incomplete_trials_is_in_the_error(tmp_path: Path) -> None:
    script = (
        f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); echo $((n+1)) > {tmp_path}/n; test $n -lt 9"
    )
    with pytest.raises(TareError) as short:
        tare.run(["sh", "-c", script], trials=20, budget=20)
    result: Any = short.value.result
    assert 0 < result.n < 20
    assert result.failed > 0


def _state() -> list[Any]:
    return [
        dict(os.environ),
        [signal.getsignal(one) for one in signal.valid_signals()],
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        list(warnings.filters),
        os.sched_getaffinity(0),
        Path.cwd(),
        threading.active_count(),
        len([*Path("/proc/self/fd").iterdir()]),
        sys.argv[:],
    ]


@pytest.mark.system
def test_the_process_stays_as_it_was() -> None:
    tare.run("true", trials=5)  # loads all modules
    before = _state()
    tare.run("true", trials=5)
    tare.compare("true", "true", trials=5)
    with pytest.raises(TareError):
        tare.run("false", trials=3)
    assert _state() == before


@pytest.mark.system
def test_it_works_within_an_event_loop_and_in_threads() -> None:
    async def cell() -> int:
        return tare.run("true", trials=5).n

    assert asyncio.run(cell()) == 5
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: tare.run("true", trials=5).n, range(2)))
    assert found == [5, 5]


@pytest.mark.system
def test_what_is_piped_into_the_process_stays_there() -> None:
    script = "import sys, tare; tare.run('true', trials=3); print(sys.stdin.read())"
    done = subprocess.run(
        [sys.executable, "-c", script], input="for the caller", capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("for the caller\n", "")


def test_importing_tare_loads_nothing_else_of_it() -> None:
    script = "import sys, tare; print(*sorted(m for m in sys.modules if m.startswith('tare')))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["tare", "tare.version"]


_GUIDE = Path(__file__).parents[2] / "docs" / "reference" / "library.md"
_EXAMPLES = "\n".join(re.findall(r"```python\n(.*?)```", _GUIDE.read_text(), re.S))
_PROGRAM = """
from pathlib import Path

import numpy as np

import tare
from tare.errors import TareError
from tare.statistics import comparison, intervals

try:
    found = tare.run(["sleep", "0.1"], budget=2.0, precision="1%", platform="bare")
except TareError as error:
    print(error.hint)
else:
    low_high: tuple[float, float] | None = found.interval
    total: float = float(found.values.sum()) + found.median
compared = tare.compare("./old", "./new", gate=0.05, trials=20)
verdict: str = compared.verdict
audited = tare.audit(Path("results.csv"), value="wall_s", quantile=[0.5, "p99"])
names: list[str] = [one.name for one in audited.series]
lists = intervals.quantile_interval([1.0, 2.0, 3.0])
arrays = comparison.compare(np.arange(1, 9), [1.5] * 8)
"""


@pytest.mark.parametrize(
    ("program", "errors"),
    [
        (_PROGRAM, ()),
        (_EXAMPLES, ()),
        ('import tare\ntare.run("true", trials="five")\n', ("arg-type",)),
        ('import tare\ntare.run("true", trial=5)\n', ("call-arg",)),
        ('import tare\nx: int = tare.run("true").median\n', ("assignment",)),
    ],
)
def test_programs_of_users_are_checked(
    program: str, errors: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "program.py"
    file.write_text(program)
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nfollow_imports = silent\n")
    asked = [
        sys.executable, "-m", "mypy", "--strict", "--config-file", str(config),
        "--cache-dir", str(tmp_path.parent / "mypy"), str(file),
    ]  # fmt: skip
    done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == int(bool(errors)), done.stdout + done.stderr
    for one in errors:
        assert f"[{one}]" in done.stdout
