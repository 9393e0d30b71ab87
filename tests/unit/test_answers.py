"""All agents of a trial are listened to at once, and none of them for ever in vain."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tare.agent import record
from tare.agent.client import Agent, Answer, ProcessChannel, SilenceError
from tare.errors import AgentError
from tare.experiment.session import answers as module
from tare.experiment.session.answers import Listener, PendingAnswer, answers, check_record, received
from tare.experiment.session.resident import Key, Resident
from tare.host import processes
from tare.platforms import Instance, Place

#: Says hello, answers the first job with what it is told to, and then does what else it is told.
SPEAKER = """
import json, sys, time
print(sys.argv[1], flush=True)
job = json.loads(sys.stdin.readline())
for line in sys.argv[2].split("|"):
    print(line.replace("ID", str(job["id"])), flush=True)
{then}
"""
HELLO = msgspec.json.encode(
    record.Hello(
        schema=record.SCHEMA, version="script", boot_id=None, pid=1, uid=0, monotonic_ns=0,
        realtime_ns=0,
    )
).decode()  # fmt: skip
FACT = '{"record":"fact","id":ID,"name":"a","value":1,"unit":null,"source":"s"}'
DONE = '{"record":"done","id":ID,"records":1}'


@pytest.fixture
def ask() -> Iterator[Any]:
    """Start an agent that says something, and ask it."""
    channels: list[ProcessChannel] = []

    def asked(
        said: str, then: str = "", limit_s: float | None = None, most: int = 9
    ) -> PendingAnswer:
        script = SPEAKER.format(then=then)
        channel = ProcessChannel(["python3", "-c", script, HELLO, said])
        channels.append(channel)
        agent = Agent(channel)
        instance = Instance(
            agent=agent, shared="", host_pid=channel.process.pid, users=True, _end=list
        )
        key = Key("bare", "all", "none", None, 0.1, (len(channels),), (None,))
        resident = Resident(key, Place(name="tare-000000-0", shared="/x"), instance)
        job = record.MeasureSelf(id=agent.next_id())
        agent.submit(job)
        return PendingAnswer(resident, Answer(agent, job.id, most), limit_s)

    yield asked
    for channel in channels:
        channel.process.kill()
        channel.close()


def test_what_all_say_is_heard_to_the_end(ask: Any) -> None:
    heard = list(answers([ask(f"{FACT}|{DONE}"), ask(f"{FACT}|{DONE}")]))
    assert sorted(resident.workers[0] for resident, _ in heard) == [1, 2]
    assert {type(got) for _, got in heard} == {record.Fact}


def test_who_waits_for_one_that_is_gone_does_not_keep_everybody(ask: Any) -> None:
    waits = ask(FACT, "time.sleep(600)")
    with pytest.raises(AgentError, match="stream ended"):
        list(answers([waits, ask(FACT)]))


def test_an_agent_that_was_stopped_is_not_waited_for(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    asked = ask(FACT, "time.sleep(600)")
    heard = answers([asked])
    next(heard)
    os.kill(asked.resident.instance.host_pid, signal.SIGSTOP)
    with pytest.raises(AgentError, match="stopped by a signal"):
        list(heard)


def test_a_program_that_stopped_itself_is_not_waited_for(
    ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a time-out, as below a sandbox, which reports no stop of what it started."""
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    monkeypatch.setattr(module, "STOPPED_S", 0.0)
    asked = ask(FACT, "import subprocess; subprocess.run(['sh', '-c', 'kill -STOP $$'])")
    with pytest.raises(AgentError, match="the program was stopped by a signal"):
        list(answers([asked]))
    processes.kill_family(asked.resident.instance.host_pid)


def test_a_program_may_stop_what_it_has_started(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's worker, which is the same program, runs sh, which runs sleep."""
    monkeypatch.setattr(module, "STOPPED_S", 0.0)
    worker = "import subprocess; subprocess.run(['sh', '-c', 'sleep 600 & wait'])"
    asked = ask(FACT, f"import subprocess; subprocess.run([sys.executable, '-c', {worker!r}])")
    agent = asked.resident.instance.host_pid
    # Where sh is a sandbox, sleep is the program.
    while not (sleeping := processes.launched(agent, 2)):
        time.sleep(0.01)
    (shell,) = processes.launched(agent, 1)
    assert processes.descendants(agent)[1:] == [shell, *sleeping]
    os.kill(sleeping[0], signal.SIGSTOP)
    while not processes.is_stopped(sleeping[0]):
        time.sleep(0.01)
    for _ in range(module.STOPPED_LOOKS):
        module.check(asked)
    os.kill(shell, signal.SIGSTOP)
    while not processes.is_stopped(shell):
        time.sleep(0.01)
    for _ in range(module.STOPPED_LOOKS - 1):
        module.check(asked)
    with pytest.raises(AgentError, match="the program was stopped by a signal"):
        module.check(asked)
    processes.kill_family(agent)


def test_silence_has_a_limit_where_one_is_known(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    with pytest.raises(SilenceError, match=r"within 0\.05 s"):
        list(answers([ask(FACT, "time.sleep(600)", limit_s=0.05)]))


@pytest.mark.parametrize(
    "said",
    [
        FACT.replace("ID", "1"),
        DONE.replace("ID", "1"),
        HELLO,
        '{"record":"done","id":ID,"records":0}',
        f"{FACT}|{FACT}|{DONE}",
    ],
)
def test_what_answers_no_job_of_this_time_is_not_believed(ask: Any, said: str) -> None:
    lines = said if said.count("|") else f"{FACT}|{said}"
    with pytest.raises(AgentError, match=r"answers no job|closed a job"):
        list(answers([ask(lines, "time.sleep(600)")]))


def test_an_answer_without_end_is_refused(ask: Any) -> None:
    with pytest.raises(AgentError, match="more than the 3 records"):
        list(answers([ask("|".join([FACT] * 9), "time.sleep(600)", most=3)]))


def test_agents_that_are_given_jobs_later_are_waited_for_as_well(ask: Any) -> None:
    with Listener() as listener:
        waits = ask(FACT, "time.sleep(600)")
        listener.add(waits)
        heard = []
        for _ in range(2):
            one = ask(f"{FACT}|{DONE}")
            listener.add(one)
            while not one.answer.whole:
                heard += [got for ready in listener.wait() for got in received(ready)]
            listener.remove(one)
        assert listener.pending == [waits]
    assert [type(got) for got in heard] == [record.Fact] * 3


def sample(value: float, *, trial: int = 1, worker: int = 0, metric: str = "wall_ns") -> Any:
    return record.Sample(
        id=1, metric=metric, phase="measured", source="switch", trial=trial, value=value,
        worker=worker,
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [sample(1, trial=2), sample(1, worker=1), sample(-1), sample(2 * 10**18)]
)
def test_values_of_others_and_values_that_nothing_reads_are_refused(wrong: record.Record) -> None:
    check_record(sample(-1, metric="clock_offset_ns"), 1, (0,))
    check_record(sample(10**18), 1, (0,))
    with pytest.raises(AgentError):
        check_record(wrong, 1, (0,))
