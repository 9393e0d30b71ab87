"""Hosts that are not like the others: by what they are, can do, and send through."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from said import template

from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint
from tare.experiment.fingerprints.network.identified import Estimate, Identification
from tare.experiment.journal import MachineFigure
from tare.features.fleet import check, check_page
from tare.features.fleet.check import Check, HostCheck, Way

METRICS = ("memory.latency", "syscall.getpid", "file.write")


def figure(metric: str, values: Sequence[float]) -> MachineFigure:
    return MachineFigure(
        moment="before", metric=metric, unit="ns", better="lower", margin=0.05,
        values=tuple(values),
    )  # fmt: skip


def fleet(hosts: int, seed: int = 0, **slower: float) -> Check:
    """Draw hosts that differ by 1 %, each in 8 rounds of 1 %; ``host2=1.3`` is slower in one."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(hosts):
        name = f"host{number}"
        figures = []
        for metric in METRICS:
            level = np.exp(rng.normal(0, 0.01))
            level *= slower.get(name, 1.0) if metric == METRICS[0] else 1.0
            figures.append(figure(metric, 100 * level * np.exp(rng.normal(0, 0.01, 8))))
        facts = {"cpus": 2, "kernel": "6.1", "load_average": float(number)}
        found.append(HostCheck(name=name, facts=facts, figures=tuple(figures)))
    return Check(hosts=tuple(found))


def way(
    source: str, target: str, gbps: float, budget: float | None, high: float | None = None
) -> Way:
    shaping = Identification(
        key={}, kind="constant" if budget is None else "bucket", reasons=(), intervals=100,
        seconds=10.0,
        high_gbps=None if high is None else Estimate(value=high, ci=(high, high)),
        low_gbps=None, time_to_empty_s=None, refill_gbps=None,
        budget_gbit=None if budget is None else Estimate(value=budget, ci=(budget, budget)),
    )  # fmt: skip
    found = NetworkFingerprint(
        tare="0", agent="a", started="2026-01-01 00:00", seconds=1, effort="brief", end=target,
        direction="out", streams=1, writes=(), shaping=shaping, searched=None, here={}, there={},
        figures={"bandwidth.fresh": Figure(value=gbps * 1e9, ci=None, unit="bits/s", n=1)},
    )  # fmt: skip
    return Way(source=source, target=target, found=found)


def ways(budgets: Sequence[float | None], gbps: Sequence[float]) -> Check:
    names = [f"host{number}" for number in range(len(budgets))]
    rng = np.random.default_rng(1)
    return Check(
        hosts=tuple(HostCheck(name=name) for name in names),
        ways=tuple(
            way(a, b, speed * float(np.exp(rng.normal(0, 0.02))), budget)
            for a, budget, speed in zip(names, budgets, gbps, strict=True)
            for b in names
            if a != b
        ),
    )


def test_a_host_with_another_kernel_is_named() -> None:
    made = fleet(5)
    odd = msgspec.structs.replace(made.hosts[3], facts={"cpus": 2, "kernel": "6.5"})
    made = msgspec.structs.replace(made, hosts=(*made.hosts[:3], odd, made.hosts[4]))
    assert check.odd_facts(made) == [("host3", "kernel", "6.5", "6.1")]


def test_what_most_do_not_share_is_no_fact_of_one() -> None:
    halves = [HostCheck(name=str(n), facts={"kernel": f"{n % 2}"}) for n in range(4)]
    assert check.odd_facts(Check(hosts=tuple(halves))) == []


def test_the_slow_host_is_named_and_no_other() -> None:
    named = [check.odd_figures(fleet(8, seed, host2=1.3)) for seed in range(40)]
    assert sum({(one.host, one.metric) for one in some} == {("host2", METRICS[0])}
               for some in named) >= 36  # fmt: skip
    assert named[0][0].ratio == pytest.approx(1.3, rel=0.05)


def test_hosts_that_are_alike_are_not_named() -> None:
    assert sum(bool(check.odd_figures(fleet(8, seed))) for seed in range(100)) <= 5


def test_of_two_hosts_the_pair_is_said() -> None:
    made = fleet(2, host1=1.4)
    assert check.odd_figures(made) == []
    (pair,) = check.pairs(made)
    assert (pair.first, pair.second, pair.change.metric) == ("host0", "host1", METRICS[0])
    alike = fleet(2)
    assert check.pairs(alike) == []
    assert check_page.exit_code(made, check_page.findings(made)) == 1
    assert check_page.exit_code(alike, check_page.findings(alike)) == 0


@pytest.mark.parametrize("hosts", [2, 5])
def test_hosts_of_one_machine_are_not_compared(hosts: int) -> None:
    made = fleet(hosts, host1=1.4)
    one = tuple(msgspec.structs.replace(host, machine="boot") for host in made.hosts)
    made = msgspec.structs.replace(made, hosts=one)
    found = {one.name: one for one in check_page.findings(made)}
    assert found["figures"].verdict == "nothing to compare"
    assert [template(one) for one in found["figures"].answer] == ["all hosts are"]
    assert check_page.exit_code(made, found.values()) == 0


def test_of_one_host_it_is_said_once_that_there_is_nothing_to_compare() -> None:
    made = fleet(1)
    answers = check_page.make(made, "again").answers
    assert [template(one) for one in answers] == ["one host, so"]
    assert check_page.exit_code(made, check_page.findings(made)) == 2


def test_another_bucket_is_marked() -> None:
    same = ways([5000.0] * 4, [10.0] * 4)
    assert check.odd_ways(same) == []
    other = ways([5000.0, 5000.0, 2500.0, 5000.0], [10.0] * 4)
    assert [(one.host, one.how) for one in check.odd_ways(other)] == [("host2", "other")]
    none = ways([5000.0, None, 5000.0, 5000.0], [10.0] * 4)
    assert [(one.host, one.how) for one in check.odd_ways(none)] == [("host1", "none")]
    alone = ways([None, None, None, 5000.0], [10.0] * 4)
    assert [(one.host, one.how) for one in check.odd_ways(alone)] == [("host3", "alone")]


def test_what_nobody_has_set_is_no_other_network() -> None:
    names = [f"host{number}" for number in range(4)]
    speeds = [16.0, 20.0, 23.0, 20.0]
    moments = [
        way(a, b, 20.0, None, high=high)
        for a, high in zip(names, speeds, strict=True)
        for b in names
        if a != b
    ]
    made = Check(hosts=tuple(HostCheck(name=name) for name in names), ways=tuple(moments))
    assert check.odd_ways(made) == []


def test_the_page_begins_with_what_is_odd() -> None:
    made = msgspec.structs.replace(fleet(4), ways=ways([5000.0] * 3 + [100.0], [10.0] * 4).ways)
    document = check_page.make(made, "tare fleet check local:4")
    assert document.lead == "ways"
    assert document.answers[0].args["figure"] == "budget"


def test_a_slower_network_is_marked() -> None:
    found = check.odd_ways(ways([None] * 6, [10, 10, 10, 5, 10, 10]))
    assert [(one.host, one.figure) for one in found] == [("host3", "bandwidth.fresh")]


@pytest.mark.parametrize("hosts", [2, 3, 4, 5, 9])
def test_no_host_is_in_two_measurements_at_a_time(hosts: int) -> None:
    names = [str(number) for number in range(hosts)]
    rounds = [*check.rounds(names)]
    for pairs in rounds:
        assert len({*itertools.chain(*pairs)}) == 2 * len(pairs)
    sent = [source for pairs in rounds for source, _ in pairs]
    assert all(sent.count(name) == min(check.PARTNERS, hosts - 1) for name in names)
    assert len({*itertools.chain(*rounds)}) == len(sent)


def test_every_sentence_can_be_said() -> None:
    from tare.render.words import text

    made = msgspec.structs.replace(
        fleet(4, host1=1.5), ways=ways([5000.0, None, 100.0, 5000.0], [1.0] * 4).ways
    )
    odd = msgspec.structs.replace(made.hosts[0], facts={"cpus": 2, "memory_bytes": 2**30})
    made = msgspec.structs.replace(made, hosts=(odd, *made.hosts[1:]))
    said = [text(one) for found in check_page.findings(made) for one in found.answer]
    assert len(said) >= 4
    assert any("host1" in one and "token bucket" in one for one in said)
    document = check_page.make(made, "tare fleet check local:4")
    assert document.lead == "facts"


def test_a_network_that_was_not_measured_is_not_the_same() -> None:
    made = ways([None] * 4, [10.0] * 4)
    why = "other hosts do not reach it"
    lost = Way(source="host0", target="host1", why=why)
    made = msgspec.structs.replace(made, ways=(*made.ways, lost))
    found = check_page.findings(made)
    assert (found[-1].name, found[-1].verdict) == ("ways", "inconclusive")
    assert found[-1].answer[0].args["why"] == why
    assert check_page.exit_code(made, found) == 1


def test_hosts_of_one_machine_are_said() -> None:
    hosts = [HostCheck(name=name, machine=boot) for name, boot in zip("abc", "112", strict=True)]
    said = check_page.make(Check(hosts=tuple(hosts)), "again").missing
    assert [one.args["hosts"] for one in said] == [["a", "b"]]
