"""Platforms over sizes: PTO and PSO, what a cost depends on, why, what is seen, and advice."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import served
from said import Phrase, headline, template
from situations import SIZES, half_a_core_pinned, with_seen
from synthetic import MS, Behaviour, make

from tare import registry
from tare.experiment.findings import overhead
from tare.experiment.findings.answers import all_findings
from tare.experiment.results import Results
from tare.experiment.samples import Key
from tare.experiment.specification import Cell
from tare.render.words import paragraph, sentence, text
from tare.results.finding import Finding
from tare.results.message import Amount, Chosen, Levels, Message, Ratio, Said, each, message
from tare.statistics.comparison import compare
from tare.wiring import SUPPLIES


def ask(name: str, results: Results) -> Finding:
    found = registry.units_of("finding")[name].find(results)
    assert found is not None
    return found


def containers_shrink(levels: dict[str, str]) -> Behaviour:
    """Docker costs 4 %, and unpinned what falls with size; vm is emulated, and takes four times."""
    cores = float(levels["size"][:-1])
    ratio = {"bare": 1.0, "docker": 1.04, "runc": 1.0, "vm": 4.0, "vm/runc": 4.4}
    mean = 400 * MS / min(cores, 1) * ratio[levels["platform"]]
    if levels["platform"] == "docker" and levels["pinning"] == "none":
        mean *= (2 / cores) ** 0.15
    return Behaviour(mean_ns=mean, spread=0.01)


def held_back(levels: dict[str, str]) -> dict[tuple[str, str], float]:
    """Docker at a quarter of a core is held back for most of what it takes longer."""
    small = levels["platform"] == "docker" and levels["size"] == "0.25c"
    return {("throttled_ns", "cgroup"): 1.4e9 + (5e8 if small else 0)}


@pytest.fixture(scope="module")
def sized() -> Results:
    return make(
        containers_shrink,
        platforms=("bare", "docker", "runc", "vm", "vm/runc"),
        workers=(1,),
        pinnings=("none", "pinned"),
        sizes=SIZES,
        trials=14,
        leave_out=half_a_core_pinned,
        emulated=("vm",),
        more=held_back,
        metric="wall_ns",
    )


@pytest.fixture(scope="module")
def findings(sized: Results) -> list[Finding]:
    return all_findings(sized, SUPPLIES.findings())


def id_of(said: Said) -> str:
    return template(said) if isinstance(said, Message) else said


def rows(found: Finding, title: str) -> list[dict[str, Any]]:
    """Rows of the table with this title, or this id of it."""
    return [row for table in found.tables if id_of(table.title) == title for row in table.rows]


def ids(said: Said | tuple[Said, ...] | None) -> list[str]:
    return [id_of(one) for one in each(said)]


def args(said: Said | tuple[Said, ...] | None, id_: str) -> dict[str, Any]:
    """Values of the first message with an id."""
    return next(one.args for one in each(said) if isinstance(one, Message) and template(one) == id_)


def test_pto_and_pso_come_out(sized: Results) -> None:
    found = ask("platform_size", sized)
    divided = {(r["platform"], r["pinning"]): r for r in rows(found, "PTO and PSO")}
    assert set(divided) == {("docker", "none"), ("runc", "none")}
    docker, runc = divided[("docker", "none")], divided[("runc", "none")]
    assert docker["verdict"] == "falls"
    assert docker["pto_low"] <= 1.04 <= docker["pto_high"]
    assert docker["pso_low"] <= 8**0.15 <= docker["pso_high"]
    assert runc["verdict"] == "flat (within 4 %)"
    falls = args(found.summary, "falls with size:")
    assert (text(falls["name"]), text(falls["small"])) == (
        "docker unpinned", "0.25 cores"
    )  # fmt: skip
    assert falls["pso"].value == pytest.approx(docker["pso"])
    answer = args(found.answer, ", platform-size overhead")
    assert (answer["verdict"], answer["pto"].value) == ("falls", docker["pto"])
    refused = args(found.answer, "{cases | listing}: {refusal}")
    few = refused["refusal"].args
    assert (few["needs"], few["sizes"], few["usable"]) == (4, 2, 2)


def test_sizes_that_were_planned_are_told_from_those_that_were_measured() -> None:
    """Two of four sizes before the budget ended: not "there are 2"."""
    early = make(
        platforms=("bare", "docker", "runc"),
        workers=(1,),
        sizes=SIZES,
        trials=12,
        leave_out=lambda levels: levels["size"] in ("1c", "2c"),
    )
    (workload,) = early.experiment.workloads
    planned = tuple(
        Cell(cell=i, workload=workload, platform=platform, workers=1, pinning="none",
             load="none", size=size)
        for i, (platform, size) in enumerate(itertools.product(("bare", "docker", "runc"), SIZES))
    )  # fmt: skip
    why = message(
        "PTO and PSO not identifiable: {usable} of {needs} sizes{% if usable < sizes %} "
        "with enough good blocks{% endif %}{% if planned and planned != sizes %} ({sizes} "
        "of {planned} planned ones were measured){% endif %}",
        needs=4,
        planned=4,
        sizes=2,
        usable=2,
    )
    results = dataclasses.replace(early, planned=planned)
    refused = args(ask("platform_size", results).answer, "{cases | listing}: {refusal}")
    assert refused["refusal"] == why


def test_a_workload_that_takes_fewer_sizes_is_named_and_leaves_the_others_theirs() -> None:
    """Of two workloads one is measured at 1c and 2c alone, and neither is pinned below 1c."""
    results = make(
        containers_shrink,
        workloads=("ffmpeg", "wordpress"),
        platforms=("bare", "docker", "runc"),
        workers=(1,),
        pinnings=("none", "pinned"),
        sizes=SIZES,
        trials=14,
        leave_out=lambda levels: (
            half_a_core_pinned(levels)
            or (levels["workload"] == "wordpress" and levels["size"] not in ("1c", "2c"))
        ),
        metric="wall_ns",
    )
    found = ask("platform_size", results)
    divided = {(r["workload"], r["platform"]) for r in rows(found, "PTO and PSO")}
    assert divided == {("ffmpeg", "docker"), ("ffmpeg", "runc")}
    refused = args(found.answer, "{cases | listing}: {refusal}")
    assert list(map(text, refused["cases"])) == ["wordpress", "pinned"]
    assert text(refused["refusal"]) == "PTO and PSO not identifiable: 2 of 4 sizes"
    sizes = {
        (r["workload"], r["cores"])
        for table in found.tables
        for r in table.rows
        if "cores" in r and r["pinning"] == "none" and r["beside"] == "bare"
    }
    assert {cores for workload, cores in sizes if workload == "wordpress"} == {1.0, 2.0}


def test_a_workload_without_the_largest_size_is_compared_with_the_largest_that_it_has() -> None:
    results = make(
        containers_shrink,
        workloads=("ffmpeg", "wordpress"),
        workers=(1,),
        sizes=("0.5c", "1c", "2c"),
        trials=14,
        leave_out=lambda levels: levels["workload"] == "wordpress" and levels["size"] == "2c",
        metric="wall_ns",
    )
    (table,) = ask("platform_factor", results).tables
    sizes = [
        (r["workload"], r["what"], r["beside"]) for r in table.rows if r["what"].startswith("size")
    ]
    assert sorted(sizes) == [
        ("ffmpeg", "size 0.5c", "2c"), ("ffmpeg", "size 1c", "2c"),
        ("wordpress", "size 0.5c", "1c"),
    ]  # fmt: skip


def test_where_no_workload_has_sizes_enough_more_trials_are_not_the_answer() -> None:
    results = make(
        containers_shrink,
        platforms=("bare", "docker"),
        workers=(1,),
        sizes=("1c", "2c"),
        trials=14,
        metric="wall_ns",
    )
    found = ask("platform_size", results)
    assert found.settle == message(
        "at least {needs} sizes, quotas below one core included; no number of trials settles it",
        needs=4,
    )


def test_the_ratio_stands_at_every_size_and_pinning(sized: Results) -> None:
    ratios = rows(ask("platform_size", sized), "ratio at every")
    same = [r for r in ratios if r["platform"] == "docker" and r["beside"] == "bare"]
    assert [(r["pinning"], r["cores"]) for r in same] == [
        ("none", 0.25), ("none", 0.5), ("none", 1.0), ("none", 2.0), ("pinned", 1.0),
        ("pinned", 2.0),
    ]  # fmt: skip
    assert [r["chr"] for r in same[:4]] == [0.125, 0.25, 0.5, 1.0]
    assert same[0]["ratio"] == pytest.approx(1.04 * 8**0.15, rel=0.02)
    # PINNING's bare metal has as many cores of its own.
    own = [r for r in ratios if r["platform"] == "docker" and r["beside"] == "bare pinned"]
    assert [r["cores"] for r in own] == [1.0, 2.0]


def test_what_pinning_removes_of_pso_is_told() -> None:
    results = make(
        containers_shrink,
        platforms=("bare", "docker"),
        workers=(1,),
        pinnings=("none", "pinned"),
        sizes=("1c", "2c", "4c", "8c"),
        trials=14,
        metric="wall_ns",
    )
    facts = results.facts
    facts = facts.with_columns(value=np.where(facts["name"] == "cpus", 8, facts["value"]))
    answer = ask("platform_size", dataclasses.replace(results, facts=facts)).answer
    pinning = args(answer, "reduces the PSO")
    assert text(pinning["name"]) == "docker unpinned"
    assert text(pinning["pinned"]) == "docker pinned"
    assert pinning["pso"].low > 1


def test_emulated_platforms_are_never_told_as_a_cost(
    sized: Results, findings: list[Finding]
) -> None:
    overhead = next(f for f in findings if f.name == "overhead")
    note = args(overhead.answer, "a VM, and")
    assert note == {"platforms": ["vm", "vm/runc"]}
    assert args(overhead.summary, "a VM, and") == note
    (said,) = [one for one in headline(sized, findings) if id_of(one) == "a VM, and"]
    assert args(said, "a VM, and") == note
    for found in findings:
        if found.name == "harness_error":
            continue  # that is about tare, wherever it is
        assert not {e.levels.get("platform") for e in found.estimates} & {"vm", "vm/runc"}, (
            found.name
        )
        for table in found.tables:
            if any(c.key == "ratio" for c in table.columns):
                assert not {r.get("platform") for r in table.rows} & {"vm", "vm/runc"}, table.title
    charts = SUPPLIES.charts()
    drawn = charts["platform_values"].draw(sized, findings)
    assert "vm (emulated)" in str(drawn)


def test_where_only_an_emulation_stands_beside_bare_nothing_is_compared() -> None:
    results = make(platforms=("bare", "vm"), workers=(1,), trials=8, emulated=("vm",))
    found = ask("overhead", results)
    assert found.verdict == "nothing to compare"
    assert args(found.answer, "nothing is compared: {why}")["why"].args == {"platforms": ["vm"]}
    stability = ask("stability", results)
    assert not {Phrase("spread vs. {reference}:"), Phrase(", by cell:")} & {*ids(stability.answer)}


def test_a_comparison_with_an_emulation_is_refused_with_the_reason() -> None:
    results = make(platforms=("bare", "vm"), workers=(1,), trials=8, emulated=("vm",))
    asked = msgspec.structs.replace(
        results.experiment,
        stopping=msgspec.structs.replace(results.experiment.stopping, compare="platform"),
    )
    found = ask("difference", dataclasses.replace(results, experiment=asked))
    assert found.verdict == "nothing to compare"
    assert args(found.answer, "nothing is compared: {why}")["why"].args == {"platforms": ["vm"]}


def test_cells_without_their_like_are_named() -> None:
    results = make(
        platforms=("bare", "docker"),
        workers=(1, 2),
        trials=8,
        leave_out=lambda levels: levels["platform"] == "bare" and levels["workers"] == "2",
    )
    caveat = args(ask("overhead", results).caveats, "no such cell:")
    assert caveat["reference"] == "bare"
    assert [one.levels for one in caveat["cells"]] == [
        {"workload": "exp_float", "platform": "docker", "workers": "2"}
    ]


def test_sizes_are_judged_by_wall_time() -> None:
    results = make(
        lambda levels: dataclasses.replace(
            containers_shrink({**levels, "platform": "bare"}), spread=0.01
        ),
        workers=(1,),
        sizes=SIZES,
        trials=8,
    )
    assert ask("overhead", results).basis == "kernel_wall_ns (self)"
    assert ask("platform_size", results).basis == "kernel_wall_ns (self)"


def test_less_throughput_is_a_cost() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return dataclasses.replace(
            Behaviour(spread=0.005), mean_ns=100 * MS * (1 if levels["platform"] == "bare" else 0.8)
        )

    results = make(rule, workers=(1,), sizes=SIZES, trials=10, metric="throughput")
    times = results.sample_table.of("kernel_cpu_ns", "self")
    renamed = results.sample_table.with_part(Key("throughput", "self"), times)
    found = ask("platform_size", dataclasses.replace(results, sample_table=renamed))
    ratios = rows(found, "ratio at every")
    assert ratios
    assert all(r["ratio"] == pytest.approx(1.25, rel=0.02) for r in ratios)


def test_what_accounts_for_the_extra_time_is_named(sized: Results) -> None:
    found = ask("platform_why", sized)
    # 400 ms at a quarter: 1.6 s; docker takes 1.04 × 8^.15 of it.
    extra = 1600 * (1.04 * 8**0.15 - 1)
    row = next(
        r
        for r in rows(found, "Extra time and")
        if (r["platform"], r["size"]) == ("docker", "0.25c")
    )
    assert row["extra"] == pytest.approx(extra * MS, rel=0.05)
    assert row["throttled_ns"] == pytest.approx(5e8)
    answer = args(found.answer, ". No recorded")
    assert (answer["platform"], answer["reference"]) == ("docker", "bare")
    assert answer["where"].levels == {"workload": "exp_float", "size": "0.25c"}
    assert answer["time"] == Amount(row["extra"], "ns", row["low"], row["high"])
    parts = {one.args["name"]: one.args["time"] for one in answer["parts"]}
    assert parts["throttled time"].value == pytest.approx(5e8)
    assert "%" not in paragraph(found.answer)
    throttled = [e for e in found.estimates if e.name == "more throttled time"]
    assert all(e.low is not None and e.high is not None for e in throttled)
    assert "preempted time" in args(found.caveats, "on both platforms:")["missing"]
    compared = {r["platform"] for r in rows(found, "Extra time and")}
    assert compared == {"docker", "runc"}


def test_times_that_overlap_are_no_shares_of_the_extra_time() -> None:
    """Two threads are throttled for longer, together, than the wall has time."""

    def more(levels: dict[str, str]) -> dict[tuple[str, str], float]:
        return {("throttled_ns", "cgroup"): 80 * MS * (levels["platform"] == "docker")}

    rule = {"bare": Behaviour(mean_ns=200 * MS), "docker": Behaviour(mean_ns=250 * MS)}
    results = make(lambda levels: rule[levels["platform"]], workers=(1,), trials=10, more=more)
    found = ask("platform_why", results)
    known = {e.name: e.value for e in found.estimates}
    assert known["extra time"] == pytest.approx(50 * MS, rel=0.05)
    assert known["more throttled time"] == 80 * MS
    assert found.verdict == "none"
    (said,) = each(found.answer)
    extra = args(said, ". No recorded")
    assert (extra["platform"], extra["reference"]) == ("docker", "bare")
    assert extra["where"] == Levels({"workload": "exp_float"})
    throttled, cpu = (one.args for one in extra["parts"])
    assert (throttled["name"], throttled["time"]) == (
        "throttled time",
        Amount(*[pytest.approx(80 * MS), "ns"], *[pytest.approx(80 * MS)] * 2),
    )
    assert (cpu["name"], cpu["time"].unit) == ("CPU time", "ns")
    # The terminal names the quota; without throttled time there is nothing to name.
    named = args(found.summary, "a CPU quota")
    assert (named["platform"], named["time"].value) == ("docker", pytest.approx(80 * MS))
    assert named["others"] == 0
    terminal = [*map(sentence, headline(results, [found]))]
    assert terminal[0].startswith("A CPU quota throttles docker (exp_float) for 80.00 ms")
    without = make(lambda levels: rule[levels["platform"]], workers=(1,), trials=10)
    assert ask("platform_why", without).summary is None


def served_with(more: Callable[[dict[str, str]], dict[tuple[str, str], float]]) -> Results:
    """Trials of 300 requests of 5 ms on bare and 8 ms in a container, and what else they have."""

    def how(levels: dict[str, str]) -> served.Served:
        return served.Served(median_ns=(8 if levels["platform"] == "docker" else 5) * MS)

    return served.make(None, how, more=more).results


def test_what_a_service_does_under_load_is_named_per_request() -> None:
    """In docker each of 300 requests is throttled for 2 ms and waits 0.6 ms for a disk."""

    def more(levels: dict[str, str]) -> dict[tuple[str, str], float]:
        slow = levels["platform"] == "docker"
        times = {
            "throttled": 2 * slow, "cpu": 1, "preempted": 2 * slow, "disk": 1 + 0.6 * slow,
            "network": 50 + 9 * slow, "blocked": 60,
        }  # fmt: skip
        sources = {"throttled": "host_cgroup"}
        return {
            (f"service_{what}_ns", sources.get(what, "perf_cpu")): 300 * ms * MS
            for what, ms in times.items()
        }

    found = ask("platform_why", served_with(more))
    known = {e.name: e.value for e in found.estimates}
    assert known["extra time"] == pytest.approx(3 * MS, rel=0.1)
    assert known["more throttled time per request"] == pytest.approx(2 * MS)
    assert known["more disk wait per request"] == pytest.approx(0.6 * MS)
    assert known["more CPU time per request"] == 0
    (said,) = each(found.answer)
    # The socket wait has grown most, but is named last, and at most two are.
    names = [one.args["name"] for one in args(said, ". No recorded")["parts"]]
    assert names == ["throttled time per request", "disk wait per request"]
    assert "else to do" in ids(found.caveats)
    assert "on both platforms:" not in ids(found.caveats)


def test_requests_of_a_warm_up_count_where_they_are_printed() -> None:
    """In docker each of 300 requests and of as many of the warm-up takes 2 ms more of a CPU."""

    def more(levels: dict[str, str]) -> dict[tuple[str, str], float]:
        slow = levels["platform"] == "docker"
        return {
            ("service_cpu_ns", "perf_cpu"): 600 * (1 + 2 * slow) * MS,
            ("warm_up_requests", "output"): 300,
        }

    known = {e.name: e.value for e in ask("platform_why", served_with(more)).estimates}
    assert known["more CPU time per request"] == pytest.approx(2 * MS)


def test_where_only_the_socket_wait_of_a_service_grows_it_is_named_and_what_is_absent_too() -> None:
    def more(levels: dict[str, str]) -> dict[tuple[str, str], float]:
        slow = levels["platform"] == "docker"
        return {("service_network_ns", "perf_cpu"): (900 + 600 * slow) * MS}

    found = ask("platform_why", served_with(more))
    (said,) = each(found.answer)
    (named,) = args(said, ". No recorded")["parts"]
    assert named.args["name"] == "socket wait per request"
    assert named.args["time"].value == pytest.approx(2 * MS)
    missing = args(found.caveats, "on both platforms:")["missing"]
    assert "disk wait per request" in missing


def test_where_no_platform_is_shown_to_take_longer_nothing_is_measured_of_why() -> None:
    found = ask("platform_why", make(workers=(1,), trials=1))
    assert (found.verdict, found.shown) == ("inconclusive", "inconclusive")
    assert args(found.answer, "shown to take") == {"blocks": 1}


def cheap(found: Finding) -> list[str]:
    """Name the platforms that surely cost little."""
    limits = args(found.advice, "low overhead:")["limits"].args["names"]
    assert all(0 < one.args["limit"].value < 0.1 for one in limits)
    return [one.args["platform"] for one in limits]


def test_a_cost_that_grows_with_the_number_of_processes_is_found() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        many = levels["platform"] == "docker" and levels["workers"] == "4"
        return Behaviour(mean_ns=200 * MS * (1.2 if many else 1))

    results = make(rule, platforms=("bare", "docker", "runc"), workers=(1, 2, 4), trials=20)
    found = ask("platform_factor", results)
    changes = {(r["platform"], r["what"]): r for r in rows(found, "to that at")}
    docker = changes[("docker", "workers 4")]
    assert docker["verdict"] == "higher"
    assert docker["low"] <= 1.2 <= docker["high"]
    assert changes[("runc", "workers 4")]["verdict"] != "higher"
    depends = args(found.answer, "{factor}:")
    assert (depends["platform"], depends["factor"]) == ("docker", "workers")
    assert (depends["level"], depends["reference"]) == ("4", "1")
    assert depends["ratio"] == Ratio(docker["ratio"], docker["low"], docker["high"])


def test_advice_has_at_most_six_lines_which_stand_first(
    sized: Results, findings: list[Finding]
) -> None:
    found = next(f for f in findings if f.name == "platform_advice")
    assert 3 <= len(found.advice) <= 6
    told = headline(sized, findings)
    assert told[: len(found.advice)] == [*found.advice]
    assert id_of(found.advice[0]) == "low overhead:"
    assert cheap(found) == ["runc"]
    least = args(found.advice, "{name} at")
    assert text(least["name"]) == "docker unpinned"
    pinned = args(found.advice, "pin {cases}")["cases"].args["names"]
    assert [one.args["platform"] for one in pinned] == ["docker"]
    assert not any("vm" in sentence(line).split() for line in found.advice)


def test_where_nothing_is_decided_the_advice_says_so() -> None:
    results = make(
        Behaviour(mean_ns=200 * MS, spread=0.3),
        platforms=("bare", "docker", "runc"),
        workers=(1,),
        pinnings=("none", "pinned"),
        sizes=SIZES,
        trials=8,
        leave_out=half_a_core_pinned,
    )
    lines = ask("platform_advice", results).advice
    assert ids(lines)[:2] == [
        "platform: inconclusive (overhead", "(smallest vs. largest:"
    ]  # fmt: skip
    limits = args(lines, "platform: inconclusive (overhead")["limits"].args["names"]
    assert {one.args["platform"] for one in limits} == {"docker", "runc"}
    pinning = args(lines, "pinning: inconclusive for")
    assert pinning["platforms"][0] == "bare"
    open_ = args(ask("platform_advice", results).summary, "overhead: inconclusive in")
    assert open_["share"].args == {"some": 12, "total": 12}
    assert open_["platforms"] == ["docker", "runc"]
    assert open_["more"].args["trials"] > 0
    found = ask("platform_advice", results)
    assert (found.verdict, found.settle) == ("inconclusive", open_["more"])
    assert ask("overhead", results).verdict == "inconclusive"


def test_of_few_trials_no_cell_is_called_stable() -> None:
    found = ask("causes", make(Behaviour(mean_ns=200 * MS, spread=0.4), workers=(1,), trials=8))
    assert found.verdict == "inconclusive"
    assert args(found.answer, "No cell is") == {"trials": 8, "least": 20}
    assert ids(found.answer) == ["No cell is"]


def test_nothing_is_said_of_sizes_where_nobody_varied_them() -> None:
    results = make(
        lambda levels: Behaviour(
            mean_ns=MS * {"bare": 100, "docker": 120, "runc": 140}[levels["platform"]], spread=0.02
        ),
        platforms=("bare", "docker", "runc"),
        workers=(1,),
        pinnings=("none", "pinned"),
        trials=14,
        sizes=("1c",),
    )
    found = ask("platform_advice", results)
    assert found.verdict == "partly"
    assert "pinning: inconclusive for" in ids(found.answer)
    assert not any("ize" in sentence(line) or "PTO" in sentence(line) for line in found.advice)


def test_what_is_not_cheap_is_not_recommended() -> None:
    cost = {"bare": 1.0, "docker": 1.3, "runc": 1.2}
    results = make(
        lambda levels: Behaviour(mean_ns=200 * MS * cost[levels["platform"]], spread=0.02),
        platforms=("bare", "docker", "runc"),
        workers=(1,),
        trials=14,
    )
    first = ask("platform_advice", results).advice[0]
    least = args(first, "to be below")
    assert (least["platform"], least["above"], least["cheap"]) == ("runc", True, Chosen(0.1))
    assert least["ratio"].value == pytest.approx(1.2, rel=0.05)
    assert sentence(first).endswith(", above 10 %.")


def test_only_what_is_surely_cheap_is_recommended() -> None:
    """That a platform is nowhere shown to cost more than the best does not make it cheap."""

    def rule(levels: dict[str, str]) -> Behaviour:
        cost = {"bare": 1.0, "runc": 1.005, "docker": 1.02, "isolate": 1.5}[levels["platform"]]
        spread = 0.6 if levels["platform"] == "docker" else 0.02
        return Behaviour(mean_ns=200 * MS * cost, spread=spread)

    names = ("bare", "runc", "docker", "isolate")
    results = make(rule, platforms=names, workers=(1,), trials=14)
    found = ask("platform_advice", results)
    assert cheap(found) == ["runc"]


def test_what_programs_see_is_laid_beside_what_they_are_given() -> None:
    made = make(workers=(1,), trials=4, pinnings=("none", "pinned"), sizes=("1c", "2c"))
    found = ask("platform_seen", with_seen(made))
    seen = {
        (r["platform"], r["pinning"], r["size"]): (r["cores"], r["cpus_affinity"])
        for r in rows(found, "Visible resources")
    }
    assert seen[("docker", "none", "1c")] == (1.0, 2)
    assert seen[("docker", "pinned", "1c")] == (1.0, 1)
    more = args(found.answer, "with a thread")
    assert (more["cpus"], more["times"], more["of"]) == (2, Chosen(2, "1"), 2)
    order = [(r["platform"], r["size"]) for r in rows(found, "Visible resources")]
    assert order == sorted(order)


def test_findings_of_platforms_stand_results_of_every_small_size() -> None:
    for trials in (1, 3):
        results = make(
            containers_shrink,
            platforms=("bare", "docker", "vm"),
            workers=(1,),
            pinnings=("none", "pinned"),
            sizes=SIZES,
            trials=trials,
            leave_out=half_a_core_pinned,
            emulated=("vm",),
        )
        found = all_findings(results, SUPPLIES.findings())
        assert all("nan" not in paragraph(f.answer) for f in found)
        for chart in SUPPLIES.charts().values():
            chart.draw(results, found)


def test_who_asks_about_one_size_is_told_nothing_of_sizes() -> None:
    steady = Behaviour(mean_ns=200 * MS, spread=0.01)
    results = make(steady, platforms=("bare", "runc", "docker"), workers=(1,), trials=14)
    assert not any("size" in sentence(x) for x in ask("platform_advice", results).advice)


def test_a_platform_that_is_only_faster_has_a_best_cell_and_no_worst() -> None:
    rng = np.random.default_rng(1)
    bare = rng.normal(1, 0.01, 30)
    by_factor = {f: compare(bare, bare * f * rng.normal(1, 0.01, 30)) for f in (0.3, 1.0, 1.4)}

    def written(*factors: float, rate: bool = False) -> str:
        cells: Any = [(None, by_factor[f]) for f in factors]
        return text(overhead._worst("docker", cells, 0.02, rate=rate))

    assert written(0.3, 1.0).endswith("(best cell)")
    # The larger change is a gain, which is not what the platform costs.
    assert written(0.3, 1.4).startswith("docker +4")
    assert written(0.3, 1.4).endswith("(worst cell)")
    assert written(0.3, 1.4, rate=True).startswith("docker × 0.3")
    assert "cell" not in written(1.4)
