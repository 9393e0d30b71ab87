"""The front's end of the stream against streams that are cut, late, or full of garbage."""

from __future__ import annotations

import signal
from collections import deque
from pathlib import Path

import pytest

from tare.agent import client as agent
from tare.agent import record
from tare.agent.client import LINE_LIMIT, Agent, LineBuffer, ProcessChannel
from tare.errors import AgentError

HELLO = (
    b'{"record":"hello","schema":%d,"version":"0","boot_id":null,"pid":1,"uid":0,'
    b'"monotonic_ns":1,"realtime_ns":2}' % record.SCHEMA
)
FACT = b'{"record":"fact","id":1,"name":"a","value":1,"unit":null,"source":"test"}'


class Replay:
    """A channel that says what was recorded, whatever it is asked."""

    def __init__(self, *lines: bytes) -> None:
        self.lines = deque(lines)
        self.sent: list[bytes] = []

    def fileno(self) -> int:
        return -1

    def send(self, line: bytes) -> None:
        self.sent.append(line)

    def receive(self, timeout_s: float | None) -> bytes | None:
        return self.lines.popleft() if self.lines else None

    def last_words(self) -> str:
        return "recorded"

    def close(self) -> None:
        self.lines.clear()


def ask(*lines: bytes) -> list[record.Record]:
    agent = Agent(Replay(HELLO, *lines))
    return agent.ask(record.MeasureSelf(id=1))


def test_a_whole_answer_is_returned_without_its_done() -> None:
    got = ask(FACT, b'{"record":"done","id":1,"records":1}')
    assert [type(r) for r in got] == [record.Fact]


def test_a_stream_that_ends_without_done_is_an_error() -> None:
    with pytest.raises(AgentError, match="ended before"):
        ask(FACT)


def test_a_done_that_counts_more_than_came_is_an_error() -> None:
    with pytest.raises(AgentError, match="2 records"):
        ask(FACT, b'{"record":"done","id":1,"records":2}')


@pytest.mark.parametrize("line", [b"\x00\xff", b'{"record":"fact","id":1', b"Segmentation fault"])
def test_garbage_is_named_as_garbage(line: bytes) -> None:
    with pytest.raises(AgentError, match="no record"):
        ask(line)


@pytest.mark.parametrize(
    "line", [b'{"record":"surprise"}', b'{"record":"done","id":1,"records":0,"extra":1}', b"[]"]
)
def test_json_that_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(AgentError, match="no record"):
        ask(line)


def test_another_schema_is_refused_with_what_to_do() -> None:
    other = HELLO.replace(b'"schema":%d' % record.SCHEMA, b'"schema":99')
    with pytest.raises(AgentError, match="schema 99") as error:
        Agent(Replay(other))
    assert error.value.hint is not None


def test_the_first_record_must_be_hello() -> None:
    with pytest.raises(AgentError, match="not `hello`"):
        Agent(Replay(FACT))


def test_lines_are_cut_wherever_the_reads_end() -> None:
    buffer = LineBuffer()
    lines = []
    for byte in b"one\ntwo\nthr":
        buffer.feed(bytes([byte]))
        while (line := buffer.line()) is not None:
            lines.append(line)
    assert lines == [b"one", b"two"]
    assert buffer.rest() == b"thr"


def test_an_endless_line_is_refused_before_it_fills_the_memory() -> None:
    buffer = LineBuffer()
    buffer.feed(bytes(LINE_LIMIT))
    with pytest.raises(AgentError, match="longer than"):
        buffer.feed(bytes(1))


def test_a_silent_process_is_told_apart_from_one_that_ended() -> None:
    silent = ProcessChannel(["sleep", "60"])
    try:
        with pytest.raises(AgentError, match="did not answer"):
            silent.receive(0.01)
    finally:
        silent.process.kill()
        silent.close()
    ended = ProcessChannel(["true"])
    assert ended.receive(10) is None
    ended.close()


def test_what_is_around_a_hanging_agent_may_clean_up_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "END_S", 0.1)
    cleaned = tmp_path / "cleaned"
    script = f"trap 'touch {cleaned}; exit' TERM; echo; while :; do sleep 0.01; done"
    channel = ProcessChannel(["sh", "-c", script])
    assert channel.receive(10) == b""
    channel.close()
    assert cleaned.exists()
    monkeypatch.setattr(agent, "CLEANING_S", 0.1)
    stubborn = ProcessChannel(["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.01; done"])
    assert stubborn.receive(10) == b""
    stubborn.close()
    assert stubborn.process.returncode == -signal.SIGKILL


def test_what_a_dead_process_said_is_in_the_error() -> None:
    channel = ProcessChannel(["sh", "-c", "echo no such thing >&2; exit 3"])
    assert channel.receive(10) is None
    assert "no such thing" in channel.last_words()
    channel.close()


def test_a_program_that_is_not_there_is_an_agent_error() -> None:
    with pytest.raises(AgentError, match="cannot start"):
        ProcessChannel(["/nowhere/agent"])
