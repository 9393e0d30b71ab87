"""A session of a fingerprint against agents that say what a script tells them to, and end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from said import args, unwritten
from test_fingerprint_rounds import probe

from tare import platforms
from tare.agent import record
from tare.agent.client import Agent
from tare.errors import AgentError
from tare.experiment import remnants
from tare.experiment.session import scratch_space
from tare.features.machine.fingerprint import figures, measure
from tare.features.machine.fingerprint import request as asking
from tare.features.machine.fingerprint.request import Asked
from tare.host import lease
from tare.platforms import Instance, Place
from tare.registry import Catalogue
from tare.render import words
from tare.results.message import message

#: From a job to the values of metrics, or None: the agent ends.
Behaviour = Callable[[record.Probe], "dict[str, float] | None"]


class Channel:
    """Speaks for an agent."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.lines: deque[bytes] = deque()
        hello = record.Hello(
            schema=record.SCHEMA, version="script", boot_id=None, pid=1, uid=0,
            monotonic_ns=0, realtime_ns=0,
        )  # fmt: skip
        self.lines.append(msgspec.json.encode(hello))

    def send(self, line: bytes) -> None:
        job = msgspec.json.decode(line, type=record.Probe)
        said = self.behaviour(job)
        if said is None:
            return
        answers = [record.Reading(id=job.id, metric=m, at=(), value=v) for m, v in said.items()]
        self.lines += map(
            msgspec.json.encode, [*answers, record.Done(id=job.id, records=len(said))]
        )

    def receive(self, timeout_s: float | None) -> bytes | None:
        return self.lines.popleft() if self.lines else None

    def last_words(self) -> str:
        return "the script ended"

    def close(self) -> None:
        pass


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Behaviour], list[Place]]:
    """Put an agent of a script's in the place of all others, on a machine of its own."""
    known = Catalogue(
        kernels={}, metrics={}, platforms={}, loads={},
        probes={name: probe(name, seconds=0.01) for name in ("good", "bad")},
    )  # fmt: skip
    for name in ("leases", "shared", "files"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(lease, "_folders", lambda: [tmp_path / "leases"])
    monkeypatch.setattr(remnants, "FOLDERS", (tmp_path / "shared",))
    monkeypatch.setattr("tare.platforms.session_folder.MEMORY", tmp_path / "shared")
    monkeypatch.setattr(measure, "catalogue", lambda: known)
    monkeypatch.setattr(scratch_space, "disk", lambda asked, size: (tmp_path / "files", size, None))
    places: list[Place] = []

    def prepare(behaviour: Behaviour) -> list[Place]:
        def start(stack: str, place: Place) -> Instance:
            places.append(place)
            return Instance(
                agent=Agent(Channel(behaviour)), shared=place.shared, host_pid=None, users=True,
                facts=(), _end=list,
            )  # fmt: skip

        monkeypatch.setattr(platforms, "start", start)
        return places

    return prepare


def asked(*words: str) -> Asked:
    return Asked(words=words, budget_s=60.0)


def test_an_agent_that_ends_is_started_again_without_the_probe_that_ended_it(
    stage: Callable[[Behaviour], list[Place]], monkeypatch: pytest.MonkeyPatch
) -> None:
    unwritten(monkeypatch, figures)
    places = stage(lambda job: None if job.name == "bad" else {"good": 1.0})
    found, interrupted = measure.take(asked())
    assert not interrupted
    assert len(places) == 2
    assert found.metrics["good"].n >= 1
    assert "bad" not in found.metrics
    (problem,) = found.problems
    assert problem.probe == "bad"
    told = args(problem.why, "rounds)")
    assert told["rounds"] == 1
    assert told["why"].startswith(words.text(message("it ended the agent: {why}", why="")))


def test_an_agent_that_never_answers_is_an_error(
    stage: Callable[[Behaviour], list[Place]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(lambda job: {})
    monkeypatch.setattr(Channel, "receive", lambda self, timeout_s: None)
    with pytest.raises(AgentError):
        measure.take(asked())


def test_what_was_measured_before_an_interrupt_is_kept_and_nothing_is_left(
    stage: Callable[[Behaviour], list[Place]], tmp_path: Path
) -> None:
    jobs: list[record.Probe] = []

    def behave(job: record.Probe) -> dict[str, float]:
        jobs.append(job)
        if len(jobs) == 4:
            raise KeyboardInterrupt
        assert job.directory is not None
        assert Path(job.directory).is_dir()
        return {"good": float(len(jobs))}

    stage(behave)
    found, interrupted = measure.take(asked("good"))
    assert interrupted
    assert found.metrics["good"].values == (1.0, 2.0, 3.0)
    assert len({job.seed for job in jobs}) == 4
    for name in ("leases", "shared", "files"):
        assert list((tmp_path / name).iterdir()) == []


def test_where_nothing_is_left_to_perform_no_agent_is_started(
    stage: Callable[[Behaviour], list[Place]], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = stage(lambda job: {})
    needy = Catalogue(
        kernels={}, metrics={}, platforms={}, loads={},
        probes={"far": probe("far", needs=("remote",))},
    )  # fmt: skip
    monkeypatch.setattr(measure, "catalogue", lambda: needy)
    found, _ = measure.take(asked("far"))
    assert places == []
    assert "--remote" in found.problems[0].why


@pytest.mark.parametrize(
    ("kind", "told"), [("remote", False), ("virtual", True), ("memory", True), (None, False)]
)
def test_a_directory_of_this_machine_is_not_taken_for_another_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str | None, told: bool
) -> None:
    here = SimpleNamespace(disk=SimpleNamespace(kind=kind, file_system="ext4"))
    monkeypatch.setattr(asking.hardware, "read", lambda directory: here)
    why = asking.places(Asked(remote=tmp_path)).not_remote
    assert (why is not None) == told
    assert why is None or "--remote DIR" in why
