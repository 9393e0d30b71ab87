"""What an application printed: its metrics, and whether the execution is valid."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tare.agent import record
from tare.applications import output
from tare.errors import AgentError
from tare.experiment.session.printed import Printed
from tare.readers.printed import value as printed_value
from tare.render.words import text
from tare.workloads import placeholders
from tare.workloads.application import (
    Application,
    ApplicationMetric,
    Check,
    Image,
    OutputCheck,
)

NONE: dict[str, bytes] = {"stdout": b"", "stderr": b""}


def application(*checks: OutputCheck, metrics: tuple[ApplicationMetric, ...] = ()) -> Application:
    return Application(
        name="a", question="b?", folder="/nowhere", digest="0" * 64, image=Image(root="/"),
        command=("true",), metrics=metrics, check=Check(outputs=checks),
    )  # fmt: skip


def metric(**more: Any) -> ApplicationMetric:
    return ApplicationMetric(
        **{"name": "x_ns", "meaning": "x", "unit": "s", "scale": 1e9, "better": "lower", **more}
    )


def value(asked: ApplicationMetric, printed: bytes) -> float | None:
    streams = {**NONE, asked.stream: printed}
    found = dict(output.values(application(metrics=(asked,)), streams, printed_value))
    return found.get("x_ns")


def why(check: OutputCheck, printed: bytes, data: Path | None = None) -> str | None:
    def fill(part: str) -> str:
        return placeholders.fill(part, {"n": "3"})

    found = output.refusal(application(check), {**NONE, check.stream: printed}, {}, fill, data)
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (b"took 0.5 s\n", 0.5e9),
        (b"took 0.5 s\ntook 0.25 s\n", 0.25e9),
        (b"took 1,234 s\n", 1234e9),
        (b"took 1,5 s\n", None),
        (b"took 1_5 s\n", None),
        (b"took .5e-1 s\n", 0.05e9),
        (b"took - s\n", None),
        (b"took nan s", None),
        (b"took 1e400 s", None),
        (b"\xff\xfe took 2 s", 2e9),
        (b"", None),
    ],
)
def test_the_last_match_of_an_expression_is_the_value(
    printed: bytes, expected: float | None
) -> None:
    assert value(metric(pattern=r"took (\S+) s"), printed) == expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (b'{"a": {"b": [1, 2.5]}}', 2.5e9),
        (b'log line\n{"a": {"b": [0, 1]}}\n{"a": {"b": [0, 2]}}\nbye\n', 2e9),
        (b'{"a": {"b": [1]}}', None),
        (b'{"a": {"b": [0, true]}}', None),
        (b'{"a": {"b": [0, "3"]}}', None),
        (b'{"a": ' * 100_000, None),
        (b'{"a": {"b": [0, 1e999]}}', None),
        (b"[\n" * 400_000, None),
        (b"[]", None),
    ],
)
def test_keys_lead_into_the_last_document(printed: bytes, expected: float | None) -> None:
    assert value(metric(json=("a", "b", "1")), printed) == expected


def test_a_format_of_another_tool_has_a_statistic() -> None:
    jtl = b"timeStamp,elapsed,label,success\n" + b"".join(
        b"%d,%d,home,true\n" % (1_700_000_000_000 + n, 10 * n) for n in range(1, 11)
    )
    assert value(metric(format="jmeter", quantile=0.5), jtl) == pytest.approx(0.055e9)
    assert value(metric(format="jmeter", quantile=None), jtl) == pytest.approx(0.055e9)
    assert value(metric(format="jmeter", quantile=0.9), jtl) == pytest.approx(0.091e9)
    assert value(metric(format="jmeter", quantile=0.5), b"none") is None
    assert value(metric(format="jmeter", quantile=0.5, series="no such"), jtl) is None


def test_standard_error_is_read_where_it_is_named() -> None:
    assert value(metric(pattern="t=(.)", stream="stderr"), b"t=7") == 7e9


@pytest.mark.parametrize(
    ("check", "printed", "expected"),
    [
        (OutputCheck(pattern="ok"), b"it is ok", None),
        (OutputCheck(pattern="ok"), b"it is not", "application.check.absent"),
        (OutputCheck(absent="CPU mask"), b"fine", None),
        (OutputCheck(absent="CPU mask"), b"no CPU mask", "application.check.present"),
        (OutputCheck(pattern="n=(.)", equals="{n}"), b"n=3", None),
        (OutputCheck(pattern="n=(.)", equals="{n}"), b"n=3 n=4", "application.check.unequal"),
        (OutputCheck(pattern="n=(.*)", minimum=2, maximum=4), b"n=4", None),
        (OutputCheck(pattern="n=(.*)", minimum=2, maximum=4), b"n=4.1", "application.check.range"),
        (OutputCheck(pattern="n=(.*)", minimum=2), b"n=1", "application.check.range"),
        (OutputCheck(pattern="n=(.*)", minimum=2), b"n=many", "application.check.range"),
        (OutputCheck(sha256=hashlib.sha256(b"x").hexdigest()), b"x", None),
        (OutputCheck(sha256=hashlib.sha256(b"x").hexdigest()), b"y", "application.check.sha256"),
        (OutputCheck(pattern="n=(.)", equals_file="n"), b"n=3", "application.check.no_file"),
    ],
)
def test_a_check_tells_right_from_wrong(
    check: OutputCheck, printed: bytes, expected: str | None
) -> None:
    assert why(check, printed) == expected


def test_a_file_that_was_prepared_tells_what_is_expected(tmp_path: Path) -> None:
    check = OutputCheck(pattern="frame= *([0-9]+)", equals_file="frames")
    (tmp_path / "frames").write_text("60\n")
    assert why(check, b"frame=   60 fps", tmp_path) is None
    assert why(check, b"frame=   59 fps", tmp_path) == "application.check.unequal"
    (tmp_path / "frames").unlink()
    (tmp_path / "frames").symlink_to("/proc/self/status")
    assert why(check, b"frame=   60 fps", tmp_path) == "application.check.no_file"


@pytest.mark.timeout(20)
def test_no_expression_takes_for_ever_on_any_text() -> None:
    text_ = b"a" * 100_000 + b"!"
    assert why(OutputCheck(pattern="(a+)+$"), text_) == "application.check.absent"
    assert why(OutputCheck(absent="(a|a)*b"), text_) is None


def test_a_link_of_what_was_prepared_shows_nothing_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret").write_text("3")
    (tmp_path / "data" / "out").symlink_to("..")
    check = OutputCheck(pattern="n=(.)", equals_file="out/secret")
    assert why(check, b"n=3", tmp_path / "data") == "application.check.no_file"
    (tmp_path / "data" / "here").write_text("3")
    (tmp_path / "data" / "in").symlink_to("here")
    check = OutputCheck(pattern="n=(.)", equals_file="in")
    assert why(check, b"n=3", tmp_path / "data") is None


def test_a_key_that_only_looks_like_a_number_is_none() -> None:
    assert value(metric(json=("²",)), b"[1, 2, 3]") is None


def test_a_metric_that_is_not_printed_makes_it_invalid() -> None:
    asked = application(metrics=(metric(pattern="t=(.)"),))
    found = output.refusal(asked, NONE, {}, str, None)
    assert found is not None
    assert found.kind == "application.no_metric"
    assert "x_ns" in text(found.said)


def sample(worker: int, iteration: int, phase: record.Phase) -> record.Sample:
    return record.Sample(
        id=1, trial=5, worker=worker, iteration=iteration, phase=phase,
        metric="wall_ns", source="around", value=1,
    )  # fmt: skip


def piece(worker: int, iteration: int, data: bytes) -> record.Output:
    return record.Output(
        id=1, trial=5, worker=worker, iteration=iteration, stream="out",
        data=base64.b64encode(data).decode(),
    )  # fmt: skip


def test_every_execution_of_a_trial_has_its_value_and_its_phase() -> None:
    printed = Printed(100, printed_value)
    for worker in (0, 1):
        for iteration, phase in ((0, "warmup"), (1, "measured")):
            printed.add(sample(worker, iteration, phase))  # type: ignore[arg-type]
            printed.add(piece(worker, iteration, b"t="))
            printed.add(piece(worker, iteration, f"{2 * worker + iteration}\n".encode()))
    asked = application(metrics=(metric(pattern="t=(.)"),))
    found = [(s.worker, s.iteration, s.phase, s.value) for s in printed.samples(asked, 5)]
    assert found == [
        (0, 0, "warmup", 0.0), (0, 1, "measured", 1e9),
        (1, 0, "warmup", 2e9), (1, 1, "measured", 3e9),
    ]  # fmt: skip
    printed.add(sample(0, 2, "tail"))
    assert printed.judged(asked, str, None) is None
    assert len(list(printed.samples(asked, 5))) == 4
    printed.add(sample(1, 2, "measured"))
    refused = printed.judged(asked, str, None)
    assert refused is not None
    assert refused.kind == "application.no_metric"


def test_of_an_output_that_is_cut_the_last_value_is_not_known() -> None:
    printed = Printed(6, printed_value)
    printed.add(sample(0, 0, "measured"))
    printed.add(piece(0, 0, b"t=1 t=2 t=3"[:6]))
    refused = printed.judged(application(metrics=(metric(pattern="t=(.)"),)), str, None)
    assert refused is not None
    assert (refused.kind, refused.said.args["limit"].value) == ("application.cut", 5)
    # An output that nothing is read from may be of any length.
    assert printed.judged(application(), str, None) is None


def test_an_agent_that_sends_too_much_or_garbage_is_refused() -> None:
    printed = Printed(10, printed_value)
    printed.add(piece(0, 0, b"12345"))
    with pytest.raises(AgentError):
        printed.add(piece(0, 0, b"123456"))
    with pytest.raises(AgentError):
        printed.add(
            record.Output(id=1, trial=5, worker=0, iteration=0, stream="err", data="not base 64!")
        )
