"""Sessions in a network that is none: what is shaped, kept and written down."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
from emulated import ScriptedEmulator
from test_execute import ends, experiment, session, starts, steady  # noqa: F401

from tare.agent import record
from tare.errors import AgentError, TrialError
from tare.experiment import journal
from tare.experiment.session.hosts import MOST_MOMENTS, Budgets, Course, NoNetworkError
from tare.experiment.specification import NetworkSpec, Stopping
from tare.networks.shaping.specification import Bucket, Distribution, parse
from tare.render.words import sentence
from tare.results.message import message
from tare.workloads.specification import WorkloadSpec

BUCKET = "bucket high=1Gbit low=100Mbit budget=100Mbit refill=100Mbit"
SMALL = f"{BUCKET} initial=20Mbit"
COMMAND = WorkloadSpec(
    name="client", command=("client", "{hosts}", "{host2}", "{host_file}"), inherit=()
)


@pytest.fixture(autouse=True)
def emulator(monkeypatch: pytest.MonkeyPatch) -> type[ScriptedEmulator]:
    ScriptedEmulator.made.clear()
    monkeypatch.setattr("tare.experiment.session.hosts.Emulator", ScriptedEmulator)
    return ScriptedEmulator


def networked(*levels: str, trials: int = 3, **network: Any) -> Any:
    return experiment(
        factors={"network": levels},
        stopping=Stopping(trials=trials, budget_s=None),
        network=NetworkSpec(**network),
        order="sequential",
    )


def uses(lines: list[journal.Line], host: int = 1) -> list[journal.HostUse]:
    return [x for x in lines if isinstance(x, journal.HostUse) and x.host == host]


def test_every_trial_begins_with_the_budget_of_its_level(session: Any) -> None:  # noqa: F811
    lines, stage, _ = session(networked("none", SMALL))
    (emulator,) = ScriptedEmulator.made
    assert emulator.closed
    assert [use.tokens_start_bits for use in uses(lines)] == [None] * 3 + [20_000_000] * 3
    assert [use.tokens_end_bits for use in uses(lines)][3:] == [12_000_000] * 3
    assert {use.sent_bytes for use in uses(lines, 2)} == {1_000_000}
    # One instance is enough for all levels, since its network is one.
    assert [place.network for _, place in stage.started] == [emulator.hosts[0].namespace]


def test_a_level_can_name_a_host_that_begins_with_less() -> None:
    bucket = parse(f"{BUCKET} initial2=5Mbit")
    budgets = Budgets(NetworkSpec(budget="carry", rest="refill"))
    assert budgets.as_left("x", 2, bucket) == bucket
    # The emptiest of all is what a rest refills.
    assert budgets.rest_s("x", bucket) == pytest.approx(0.95)
    states = [_host(host, tokens) for host, tokens in ((1, 90_000_000), (2, 4_000_000))]
    budgets.keep("x", states)
    left = budgets.as_left("x", 2, bucket)
    assert isinstance(left, Bucket)
    assert left.begins_with(2) == 4_000_000


def test_budgets_are_carried_by_level(session: Any) -> None:  # noqa: F811
    lines, _, _ = session(networked(BUCKET, SMALL, budget="carry"))
    begun: dict[int, list[int | None]] = {0: [], 1: []}
    for start, use in zip(starts(lines), uses(lines), strict=True):
        begun[start.cell].append(use.tokens_start_bits)
    assert begun[0] == [100_000_000, 92_000_000, 84_000_000]
    assert begun[1] == [20_000_000, 12_000_000, 4_000_000]


def test_what_the_hosts_did_is_told_of_every_trial(session: Any) -> None:  # noqa: F811
    lines, _, _ = session(networked("none", BUCKET, trials=1))
    samples = [x for x in lines if isinstance(x, record.Sample) and x.source == "qdisc"]
    told = [(x.trial, x.metric, x.value) for x in samples]
    assert told == [
        (1, "network_sent_bytes", 2_000_000),
        (2, "network_sent_bytes", 2_000_000),
        (2, "network_dry_ns", 0),
    ]
    log = [x for x in lines if isinstance(x, journal.HostTokens)]
    assert [x.sent_bytes for x in log] == [(0, 0), *[(1_000_000, 1_000_000)] * 2] * 2
    # All of it between a trial's begin and its end.
    inside = None
    for line in lines:
        match line:
            case journal.TrialStart():
                inside = line.trial
            case journal.TrialEnd():
                inside = None
            case journal.HostUse() | journal.HostTokens():
                assert line.trial == inside


def test_a_distribution_is_drawn_anew_in_every_block(session: Any) -> None:  # noqa: F811
    session(networked("distribution 10%=100Mbit 90%=200Mbit every=5s", trials=3))
    (emulator,) = ScriptedEmulator.made
    assert all(isinstance(shaping, Distribution) for shaping, _ in emulator.shaped)
    assert [draw for _, draw in emulator.shaped] == [0, 1, 2]


def test_commands_find_the_hosts(session: Any, tmp_path: Path) -> None:  # noqa: F811
    seen: list[record.Command] = []

    def behaviour(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        assert isinstance(job.workload, record.Command)
        seen.append(job.workload)
        assert Path(job.workload.argv[3]).read_text() == "10.77.0.1\n10.77.0.2\n10.77.0.3\n"
        return {("wall_ns", "around"): 1e8}

    asked = networked("none", trials=1, hosts=3)
    session(msgspec.structs.replace(asked, workloads=(COMMAND,)), behaviour)
    (command,) = seen
    assert command.argv[:3] == ("client", "10.77.0.1,10.77.0.2,10.77.0.3", "10.77.0.2")
    assert command.environment["TARE_HOSTS"] == "10.77.0.1,10.77.0.2,10.77.0.3"
    assert command.environment["TARE_HOST_FILE"] == command.argv[3]
    assert command.environment["TARE_NETWORK"] == "none"


def test_without_the_factor_there_is_no_network(session: Any) -> None:  # noqa: F811
    _, stage, _ = session(experiment(factors={}))
    assert not ScriptedEmulator.made
    assert {place.network for _, place in stage.started} == {None}


def test_a_rest_that_outlasts_the_budget_ends_the_session(session: Any) -> None:  # noqa: F811
    asked = msgspec.structs.replace(
        networked(
            f"{SMALL.replace('refill=100Mbit', 'refill=1Mbit')}", budget="carry", rest=3600.0
        ),
        stopping=Stopping(trials=3, budget_s=60.0),
    )
    lines, _, _ = session(asked)
    assert len(uses(lines)) == 1
    (stop,) = [x for x in lines if isinstance(x, journal.Stop)]
    assert (stop.reason, stop.trials) == ("budget", 1)


def test_a_session_that_goes_on_says_that_budgets_began_anew(session: Any) -> None:  # noqa: F811
    session(networked(SMALL, budget="carry", trials=1))
    lines, _, _ = session(networked(SMALL, budget="carry", trials=2))
    assert [use.tokens_start_bits for use in uses(lines)] == [20_000_000] * 2
    notes = [x.message for x in lines if isinstance(x, journal.Note)]
    assert (
        notes.count(
            sentence(
                message(
                    "budgets are carried from trial to trial, but this session continues an "
                    "earlier "
                    "one: in it, every level began with its initial budget again"
                )
            )
        )
        == 1
    )


def test_rests_last_until_every_bucket_is_full() -> None:
    budgets = Budgets(NetworkSpec(budget="carry", rest="refill"))
    bucket = Bucket(high_bps=100, low_bps=1, refill_bps=5, capacity_bits=100, initial_bits=60)
    assert budgets.rest_s("a", bucket) == 8
    budgets.keep("a", [_host(1, 90), _host(2, 50)])
    assert budgets.rest_s("a", bucket) == 10
    assert budgets.rest_s("none", None) == 0


def test_rests_of_a_time_begin_where_something_was_spent() -> None:
    budgets = Budgets(NetworkSpec(budget="carry", rest=30.0))
    bucket = Bucket(high_bps=100, low_bps=1, refill_bps=5, capacity_bits=100)
    assert budgets.rest_s("a", bucket) == 0
    budgets.keep("a", [_host(1, 100)])
    assert budgets.rest_s("a", bucket) == 30


def test_of_a_long_trial_moments_are_left_out_evenly() -> None:
    course = Course(1, "a", 0, record.HostStates(at_ns=0, hosts=(_host(1, 0),)))
    for at_ns in range(1, 10_000):
        course.add(record.HostStates(at_ns=at_ns, hosts=(_host(1, 0),)))
    last = record.HostStates(at_ns=10_000, hosts=(_host(1, 0),))
    *at, end = [line.at_ns for line in course.log(last)]
    assert end == 10_000
    assert MOST_MOMENTS / 2 <= len(at) <= MOST_MOMENTS
    assert at[0] == 0
    assert len({b - a for a, b in itertools.pairwise(at)}) == 1


def test_a_network_that_cannot_be_made_ends_the_session(
    session: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str, hosts: int) -> None:
        raise TrialError("no right to make a network")

    monkeypatch.setattr("tare.experiment.session.hosts.Emulator", refuse)
    with pytest.raises(TrialError, match="no right"):
        session(networked("none"))


def test_a_network_that_fails_ends_the_session_which_keeps_what_it_has(
    session: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    class Mortal(ScriptedEmulator):
        """It ends in the third trial."""

        def check(self) -> None:
            super().check()
            if len(self.shaped) == 3:
                raise AgentError("the agent that emulates the network is gone", "tare cleanup")

    monkeypatch.setattr("tare.experiment.session.hosts.Emulator", Mortal)
    with pytest.raises(NoNetworkError, match="is gone") as told:
        session(networked("none", trials=9))
    assert told.value.hint == "--resume"
    lines = list(journal.read(tmp_path / "results/journal/1.ndjson"))
    assert [end.status for end in ends(lines)] == ["ok", "ok", "failed"]


def _host(host: int, tokens: int) -> record.HostState:
    return record.HostState(
        host=host, tokens_bits=tokens, rate_bps=None, sent_bytes=0, dropped_packets=0,
        waiting_bytes=0, times_dry=0, dry_ns=0, first_dry_ns=None,
    )  # fmt: skip
