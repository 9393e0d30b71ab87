"""``tare net measure`` against an agent that follows a script: options, resuming, what is told."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inprocess import Result, invoke
from measuring import ScriptedEnds, connect, sending
from said import args, template

from tare.agent.record import BeyondLimit, Connect, Interval, OtherKey, Sending
from tare.cli import progress
from tare.cli.app import USAGE
from tare.errors import (
    AgentError,
    InterruptError,
    StoreError,
    TareError,
    UsageError,
)
from tare.features.network.measure import checked as asking
from tare.features.network.measure import client, runner
from tare.features.network.measure import progress as net_measure_progress
from tare.features.network.measure.caveats import caveats
from tare.features.network.measure.options import MeasureOptions
from tare.features.network.measure.progress import MeasureBar
from tare.features.network.measure.summary import figures, summaries
from tare.networks import peering
from tare.networks.recording import folder
from tare.networks.recording import writer as writing
from tare.results.message import Chosen, message

_S = 10**9


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "lab.key"
    peering.make_key(path)
    return path


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedEnds]:
    """Agents that are started, one after another."""
    waiting: list[ScriptedEnds] = []

    def start(asked: Connect) -> client.Ends:
        return client.Ends(asked, channel=waiting.pop(0) if waiting else ScriptedEnds())

    monkeypatch.setattr(runner.carry_out, "__defaults__", (start,))
    return waiting


def tare(*words: object) -> Result:
    return invoke("net", *map(str, words))


def refused(*words: object) -> TareError:
    error = tare(*words).exception
    assert isinstance(error, TareError), error
    return error


def test_a_measurement_is_kept_and_told(
    tmp_path: Path, key: Path, scripts: list[ScriptedEnds]
) -> None:
    out = tmp_path / "m"
    answer = tare(
        "measure", "192.0.2.1", "--key", key, "--duration", "1min", "--out", out,
        "--json", tmp_path / "end.json",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    assert "median" in answer.stdout
    for told in ("min RTT", "control cubic", "MTU 1500"):
        assert told in answer.stdout
    assert (out / "report.html").stat().st_size > 100_000
    assert peering.read_key(key) not in (out / writing.ASKED).read_text()
    # A rest comes first, to see how late an idle network is.
    course = folder.read(out).courses["out"]
    assert course.on_s[0] == 0
    end = json.loads((tmp_path / "end.json").read_text())
    assert end["complete"]
    assert end["summaries"][0]["bandwidth_bps"]["p50"] == pytest.approx(1e9)
    with pytest.raises(StoreError, match="already"):
        raise refused("measure", "192.0.2.1", "--key", key, "--out", out)


def test_a_crash_is_gone_on_from(tmp_path: Path, key: Path, scripts: list[ScriptedEnds]) -> None:
    # The agent ends in the middle; the next one does not come to anything at all.
    scripts += [ScriptedEnds(over=(5, "killed")), ScriptedEnds(over=(0, "nobody listens"))]
    error = refused(
        "measure", "192.0.2.1", "--key", key, "--duration", "100s", "--interval", "10s",
        "--out", tmp_path / "m",
    )  # fmt: skip
    assert isinstance(error, AgentError)
    before = folder.read(tmp_path / "m")
    assert sum(before.left_ns().values()) == 80 * _S
    answer = tare("measure", "--out", tmp_path / "m", "--resume")
    assert answer.exit_code == 0, answer.output
    after = folder.read(tmp_path / "m")
    assert after.left_ns() == {}
    course = after.courses["out"]
    assert (course.end_s - course.start_s).sum() == pytest.approx(105)
    assert message("the measurement was stopped and resumed") in [why for _, _, why in after.gaps]


def test_ctrl_c_keeps_everything(
    tmp_path: Path, key: Path, scripts: list[ScriptedEnds], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(ScriptedEnds):
        def receive(self, timeout_s: float | None) -> bytes | None:
            if self.told == 6:
                self.told += 1
                raise KeyboardInterrupt
            return super().receive(timeout_s)

    scripts.append(Interrupted())
    error = refused(
        "measure", "192.0.2.1", "--key", key, "--duration", "100s", "--interval", "10s",
        "--out", tmp_path / "m",
    )  # fmt: skip
    assert isinstance(error, InterruptError)
    assert "--resume" in str(error.hint)
    # What was seen until then was asked for once more.
    assert len(folder.read(tmp_path / "m").courses["out"]) == 11


def test_whoever_is_not_reached_leaves_no_folder(
    tmp_path: Path, key: Path, scripts: list[ScriptedEnds]
) -> None:
    scripts.append(ScriptedEnds(over=(0, OtherKey(end="192.0.2.1:8273"))))
    error = refused("measure", "192.0.2.1", "--key", key, "--out", tmp_path / "m")
    assert "another key" in error.message
    assert "--key" in str(error.hint)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "HOST"),
        (("192.0.2.1",), "--key"),
        (("192.0.2.1", "--duration", "3 weeks"), "--duration '3 weeks'"),
        (("192.0.2.1", "--duration", "-1s"), "--duration '-1s'"),
        (("192.0.2.1", "--duration", "900000w"), "above"),
        (("192.0.2.1", "--duration", "2w"), "--out"),
        (("192.0.2.1", "--interval", "1ms"), "below"),
        (("192.0.2.1", "--pattern", "fast"), "neither"),
        (("192.0.2.1", "--pattern", "0-30"), "neither"),
        (("192.0.2.1", "--write-size", "0B"), "no size"),
        (("192.0.2.1", "--write-size", "2MiB"), "no size"),
        (("192.0.2.1", "--direction", "up"), "one of"),
        (("192.0.2.1", "--sweep", "--write-size", "1KiB"), "all sizes"),
        (("--resume",), "which measurement"),
        (("--resume", "--out", "/nonexistent"), "no measurement"),
    ],
)
def test_what_is_not_possible_is_said(words: Sequence[str], complaint: str) -> None:
    error = refused("measure", *words)
    assert complaint in error.message + str(error.hint)
    assert error.hint


def test_resume_takes_nothing_else(tmp_path: Path, key: Path, scripts: list[ScriptedEnds]) -> None:
    tare("measure", "192.0.2.1", "--key", key, "--duration", "10s", "--out", tmp_path / "m")
    error = refused("measure", "--out", tmp_path / "m", "--resume", "--duration", "2h")
    assert "--duration" in error.message
    error = refused("measure", "--out", tmp_path / "m", "--resume", "--pings", "0")
    assert "--pings" in error.message


def options(**changes: Any) -> MeasureOptions:
    return MeasureOptions(host="192.0.2.1", **changes)


def pattern(text: str) -> Any:
    return MeasureOptions.records["pattern"].kind.typed(text)


def test_orders_of_a_sweep_go_up_and_down() -> None:
    found = asking.asked(options(sweep=True), kept=False)
    sizes = [order.write_bytes for order in found.phases if order.on_ns]
    assert sizes == [*asking.SWEEP, *reversed(asking.SWEEP)]
    assert sum(order.duration_ns for order in found.phases if order.on_ns) == 110 * _S
    assert found.congestion == "cubic"


def test_orders_of_patterns() -> None:
    patterns = [pattern(text) for text in ("full-speed", "10-30", "0.5-1")]
    patterned = options(pattern=patterns, duration=7 * 86_400.0)
    found = asking.asked(patterned, kept=True)
    assert found.interval_ns == 10 * _S
    assert [(o.on_ns, o.off_ns) for o in found.phases][1:] == [
        (_S, 0), (10 * _S, 30 * _S), (_S // 2, _S),
    ]  # fmt: skip
    assert [order.id for order in found.phases] == [0, 1, 2, 3]
    assert asking.asked(options(congestion="kernel"), kept=False).congestion is None


def test_a_lost_end_is_told(tmp_path: Path, key: Path, scripts: list[ScriptedEnds]) -> None:
    scripts.append(ScriptedEnds(lost=((30, 50),)))
    answer = tare(
        "measure", "192.0.2.1", "--key", key, "--duration", "80s", "--interval", "10s",
        "--out", tmp_path / "m",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    assert "connection reset" in answer.stderr
    assert re.search(r"1 gap, \d+ s .*: connection reset", answer.stdout)
    trace = tmp_path / "m" / writing.TRACE
    records = [json.loads(line)["record"] for line in trace.open()]
    assert records.count("gap") == 1
    assert records.count("connected") == 2


class Deaf:
    """Takes what a measurement tells."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def begins(self, orders: Sequence[Sending]) -> None:
        self.told.append(len(orders))

    def connected(self, connected: object) -> None: ...

    def happened(self, order: Sending, happening: object) -> None:
        self.told.append(happening)

    def restarts(self, error: AgentError) -> None:
        self.told.append(error)


def test_an_agent_that_ends_is_started_again(tmp_path: Path) -> None:
    waiting = [ScriptedEnds(over=(4, "killed")), ScriptedEnds()]
    asked = asking.asked(options(duration=60.0, pings=0, interval=10.0), kept=True)
    listener = Deaf()
    with writing.create(tmp_path / "m", asked) as writer:
        runner.carry_out(
            tmp_path / "m", writer, Connect(
                end="192.0.2.1:1", key="00" * 16, direction="out", streams=1, pings=None,
                interval_ns=10 * _S, sample_ns=10**7, patience_ns=1,
            ), listener, lambda connect: client.Ends(connect, channel=waiting.pop(0)),
        )  # fmt: skip
    assert sum(isinstance(one, AgentError) for one in listener.told) == 1
    assert sum(isinstance(one, Interval) for one in listener.told) == 6
    assert folder.read(tmp_path / "m").left_ns() == {}


def test_a_server_takes_a_key_and_an_address(tmp_path: Path) -> None:
    made = invoke("net", "serve", "--new-key", str(tmp_path / "lab.key"))
    assert f"--key {tmp_path / 'lab.key'}" in made.stdout.replace("\n", "")
    with pytest.raises(UsageError) as refused:
        invoke("net", "serve", catch=False)
    assert "--bind" in str(refused.value.hint)


def test_what_is_missing_or_impossible_on_the_command_line_is_usage(tmp_path: Path) -> None:
    key = tmp_path / "lab.key"
    for words in (
        ["measure"],
        ["measure", "192.0.2.1"],
        ["measure", "192.0.2.1", "--key", str(key), "--duration", "soon"],
        ["measure", "--identify", "192.0.2.1"],
        ["measure", "--identify", "192.0.2.1", "--key", str(key), "--max-bytes", "much"],
        ["fingerprint", "192.0.2.1"],
        ["serve", "--bind", "127.0.0.1"],
        ["serve", "--key", str(key)],
        ["emulate"],
        ["emulate", "bucket", "high=fast"],
        ["emulate", "rate", "2Gbit", "--on", "9"],
    ):
        with pytest.raises(UsageError) as refused:
            invoke("net", *words, catch=False)
        assert refused.value.exit_code == USAGE


def test_a_key_that_is_not_there_is_copied_here_and_made_there(tmp_path: Path) -> None:
    """A new key on the client would fit nothing."""
    key = str(tmp_path / "lab.key")
    hints = []
    for words in (["measure", "192.0.2.1"], ["serve", "--bind", "127.0.0.1"]):
        with pytest.raises(UsageError) as refused:
            invoke("net", *words, "--key", key, catch=False)
        hints.append(str(refused.value.hint))
    assert "copy" in hints[0]
    assert "--new-key" not in hints[0]
    assert hints[1] == f"tare net serve --new-key {key}"


def test_a_limit_that_is_reached_ends_it_and_is_written_down(tmp_path: Path) -> None:
    """An agent that is started anew would be cut again, as often as it takes to be done."""
    limit = BeyondLimit(limit="bytes", allowed=50_000_000)
    script = ScriptedEnds(over=(5, limit))
    out = tmp_path / "m"
    asked = asking.asked(options(duration=60.0, pings=0, interval=10.0), kept=True)
    with writing.create(out, asked) as writer:
        ended = runner.carry_out(
            out, writer, connect(), Deaf(), lambda asked: client.Ends(asked, channel=script)
        )
    assert ended == limit
    assert script.asked is not None
    # The other end knows from the start what is asked for.
    assert script.asked.lasts_ns == 60 * _S
    measured = folder.read(out)
    assert measured.ended == limit
    some = summaries(measured)
    told = caveats(measured, some)
    document = figures(measured, some)
    assert (document["complete"], document["ended"]["limit"]) == (False, "bytes")
    assert template(told[0]) == "not complete:"
    assert args(told[0], "its limit of")["allowed"] == Chosen(50_000_000, "bytes")
    # Who goes on with it has not ended yet.
    with writing.Writer(out) as writer:
        writer.stretch()
    assert folder.read(out).ended is None


def test_a_log_has_no_picture_and_a_rest_no_retransmits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_S", 0.0)
    monkeypatch.setattr(net_measure_progress, "_SHOWN_EVERY_S", 0.0)
    script = ScriptedEnds()
    with MeasureBar(10 * _S) as bar, client.Ends(connect(), channel=script) as both:
        for order in (sending(0, 20), sending(1, 10, 0)):
            for happening in both.send(order):
                bar.happened(order, happening)
    sent, *_, idle = capsys.readouterr().err.splitlines()
    assert "retransmits" in sent
    assert "idle" in idle
    assert "retransmits" not in idle
    assert not set("▁▂▃▄▅▆▇█") & set(sent + idle)
