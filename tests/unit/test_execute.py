"""Sessions against scripted agents: order, stopping, failures, resuming, and what is kept."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import scripted
from scripted import MACHINE, Behaviour, BlindObserver, Stage, prepare

from tare.agent import record
from tare.errors import TareError, TrialError
from tare.experiment import journal, plan
from tare.experiment import session as execute
from tare.experiment.session import part_list, parts
from tare.experiment.session.budget import Budget
from tare.experiment.session.observer import NoObserverError
from tare.experiment.session.parts import RunningTrial
from tare.experiment.session.recorded_session import RecordedSession
from tare.experiment.session.request import SHORT_PROBING
from tare.experiment.session.session import weigh
from tare.experiment.session.session_state import TRIES_IN_A_ROW
from tare.experiment.session.window import window
from tare.experiment.specification import Cell, Experiment, SizeSpec, Stopping, WindowSpec
from tare.experiment.store.collector import Collector
from tare.render.words import sentence
from tare.results.message import message
from tare.statistics import stopping
from tare.statistics.interim_analysis import Target
from tare.workloads.specification import WorkloadSpec

KERNEL = WorkloadSpec(name="exp_float", kernel="exp_float", repetitions=3)


class Quiet:
    """Progress that is only counted."""

    def __init__(self) -> None:
        self.trials: list[Cell] = []
        self.stages: list[str] = []

    def stage(self, what: str) -> None:
        self.stages.append(what)

    def note(self, message: str) -> None: ...

    def begins(self, *, serves: bool, application: bool) -> None: ...

    def planned(self, trials: int | None, seconds: float | None) -> None: ...

    def ended(
        self, cell: Cell, outcome: execute.Outcome, done: int, seconds_left: float | None
    ) -> None:
        self.trials.append(cell)


def steady(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
    return {("kernel_cpu_ns", "self"): 1e8 + job.trial % 7 * 1e5}


def experiment(**changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "name": "test",
        "question": "?",
        "workloads": (KERNEL,),
        "factors": {"platform": ("bare", "unshare"), "workers": (1, 2)},
        "stopping": Stopping(trials=5, budget_s=None),
    }
    return Experiment(**(given | changes))


@pytest.fixture
def session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[list[journal.Line], Stage, Quiet]]:
    """Conduct a session and return its whole journal."""
    folder = prepare(monkeypatch, tmp_path)

    def conduct(
        asked: Experiment,
        behaviour: Behaviour = steady,
        broken: tuple[str, ...] = (),
        weigh: Any = None,
        **said: Any,
    ) -> tuple[list[journal.Line], Stage, Quiet]:
        stage, quiet = Stage(behaviour, broken, **said), Quiet()
        target = Target(asked.stopping.precision, early=asked.stopping.early)
        scripted.conduct(
            monkeypatch,
            stage,
            Collector(folder, plan.make(asked, plan.cells(asked, MACHINE))),
            quiet,
            lambda values: stopping.decide(values, target),
            weigh=weigh,
        )
        return list(journal.read_all(folder)), stage, quiet

    return conduct


def test_what_is_set_up_is_shown_to_be(session: Any, tmp_path: Path) -> None:
    one: dict[str, Any] = {"factors": {"workers": (1,)}}
    setup = msgspec.structs.replace(KERNEL, setup=f"touch {tmp_path}/done")
    assert session(experiment(**one, workloads=(setup,)))[2].stages[-1] == "setting up"
    assert (tmp_path / "done").exists()


def ends(lines: list[journal.Line]) -> list[journal.TrialEnd]:
    return [line for line in lines if isinstance(line, journal.TrialEnd)]


def stops(lines: list[journal.Line]) -> dict[int, journal.Stop]:
    return {line.cell: line for line in lines if isinstance(line, journal.Stop)}


def starts(lines: list[journal.Line]) -> list[journal.TrialStart]:
    return [line for line in lines if isinstance(line, journal.TrialStart)]


def test_every_block_holds_every_cell_once_and_n_is_kept(session: Any) -> None:
    lines, _, quiet = session(experiment())
    blocks: dict[int, list[int]] = {}
    for line in starts(lines):
        blocks.setdefault(line.block, []).append(line.cell)
    assert [sorted(cells) for cells in blocks.values()] == [[0, 1, 2, 3]] * 5
    assert len({tuple(cells) for cells in blocks.values()}) > 1, "the order is random"
    assert len(quiet.trials) == 20
    assert {stop.reason for stop in stops(lines).values()} == {"fixed"}


def test_sequential_order_finishes_a_cell_before_the_next(session: Any) -> None:
    lines, _, _ = session(experiment(order="sequential"))
    assert [line.cell for line in starts(lines)] == [c for c in range(4) for _ in range(5)]
    assert [line.block for line in starts(lines)] == list(range(5)) * 4


def test_instances_are_started_once_and_kept(session: Any) -> None:
    _, stage, _ = session(experiment())
    # Two platforms, and a second instance of each for the second worker.
    assert sorted(stack for stack, _ in stage.started) == ["bare", "bare", "unshare", "unshare"]
    assert all(channel.closed for channel in stage.channels)


def test_a_fresh_platform_per_trial_is_started_each_time(session: Any) -> None:
    _, stage, _ = session(experiment(fresh="trial", factors={"workers": (1,)}))
    assert len(stage.started) == 5


def test_a_part_that_fails_leaves_no_used_instance_to_the_next_trial(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = chain([None, TrialError("no room today")], repeat(None))

    @contextmanager
    def around(self: object, trial: object) -> Iterator[None]:
        if (error := next(started)) is not None:
            raise error
        yield

    monkeypatch.setattr("tare.experiment.session.kept_output.KeptOutput.around", around)
    command = WorkloadSpec(name="echo", command=("echo",), output="{trial}.out")
    asked = experiment(fresh="trial", factors={"workers": (1,)}, workloads=(command,))
    lines, stage, _ = session(asked)
    ended = [line.status for line in lines if isinstance(line, journal.TrialEnd)]
    assert ended.count("failed") == 1
    # One for each trial, the failed one included.
    assert len(stage.started) == len(ended)
    assert all(channel.closed for channel in stage.channels)


def test_each_part_is_closed_whatever_becomes_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Part(parts.TrialPart):
        def close(self) -> None:
            closed.append(self)
            raise TrialError("cannot close")

    class Other(Part):
        pass

    entries = tuple(part_list.PartEntry(f"x:{i}", lambda *_: True) for i in range(2))
    monkeypatch.setattr(part_list, "PARTS", entries)
    resources: Any = SimpleNamespace(experiment=None)
    made = {f"x:{i}": one(resources) for i, one in enumerate((Part, Other))}
    found = part_list.PartList(resources)
    monkeypatch.setattr(found, "_made", made)
    with pytest.raises(TrialError):
        found.close()
    assert set(closed) == set(made.values())


def test_shared_instances_hold_all_workers(session: Any) -> None:
    lines, stage, _ = session(experiment(instances="shared", factors={"workers": (2,)}))
    assert len(stage.started) == len({stack for stack, _ in stage.started})
    assert {line.levels["workers"] for line in starts(lines)} == {"2"}


def test_pinned_workers_get_cpus_of_their_own(session: Any) -> None:
    lines, stage, _ = session(experiment(factors={"workers": (2,), "pinning": ("spread",)}))
    assert [place.cpus for _, place in stage.started] == [(0,), (1,)]
    assert starts(lines)[0].cpus == ((0,), (1,))


def test_precision_goes_on_until_it_is_reached_and_says_so(session: Any) -> None:
    asked = experiment(factors={"workers": (1,)}, stopping=Stopping(precision=0.02, budget_s=None))
    lines, _, _ = session(asked)
    stop = stops(lines)[0]
    assert stop.reason == "target"
    assert stop.trials >= 50
    assert stop.reached is not None
    assert stop.reached <= 0.02


@pytest.mark.parametrize(
    ("fitted", "early", "ended"),
    [(20, True, ("target", 10)), (1000, True, ("target", 10)), (20, False, ("budget", 22))],
)
def test_narrow_times_end_a_session_early_also_where_few_trials_fit(
    session: Any, monkeypatch: pytest.MonkeyPatch, fitted: int, early: bool, ended: tuple[str, int]
) -> None:
    monkeypatch.setattr("tare.experiment.session.session.plan.fixed_trials", lambda *_: fitted)
    asked = Stopping(precision=0.1, early=early, budget_s=60.0)
    lines, _, _ = session(experiment(factors={"workers": (1,)}, stopping=asked))
    (stop,) = stops(lines).values()
    assert (stop.reason, stop.trials) == ended


def test_the_budget_outranks_everything_and_is_told(session: Any) -> None:
    asked = experiment(stopping=Stopping(precision=0.02, budget_s=0.0))
    lines, _, _ = session(asked)
    assert {stop.reason for stop in stops(lines).values()} == {"budget"}
    assert len(ends(lines)) < 50 * 4


def test_a_budget_that_ends_early_leaves_whole_blocks(session: Any) -> None:
    def slow(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        time.sleep(0.03)
        return steady(job, worker)

    lines, _, _ = session(experiment(stopping=Stopping(trials=100, budget_s=1.0)), slow)
    counts = Counter(line.cell for line in starts(lines))
    assert {stop.reason for stop in stops(lines).values()} == {"budget"}
    assert len(counts) == 4
    assert len(set(counts.values())) == 1, counts


def test_probes_count_towards_the_budget(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def budget(total_s: float, spent_s: float) -> Budget:
        made.append(spent_s)
        return Budget(total_s, spent_s)

    def probed(moment: str) -> list[journal.Line]:
        time.sleep(0.05)
        return []

    monkeypatch.setattr("tare.experiment.session.session.Budget", budget)
    session(experiment(stopping=Stopping(trials=1, budget_s=1.0)), weigh=probed)
    # Those after the trials are expected to take as long again.
    assert made[0] >= 0.1


def test_without_a_value_of_the_metric_no_target_is_reached(session: Any) -> None:
    def other(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        return {("memory_bytes", "rusage"): 1.0}

    asked = experiment(factors={"workers": (1,)}, stopping=Stopping(precision=0.02, budget_s=2.0))
    lines, _, _ = session(asked, other)
    assert {stop.reason for stop in stops(lines).values()} == {"budget"}


def test_a_failed_trial_is_stored_as_failed_and_the_others_go_on(session: Any) -> None:
    def sometimes(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        return "exit code 3" if job.trial == 2 else steady(job, worker)

    lines, _, _ = session(experiment(), sometimes)
    failed = [end for end in ends(lines) if end.status == "failed"]
    assert [(end.trial, end.reason) for end in failed] == [(2, "exit code 3")]
    assert len(ends(lines)) == 21


def test_a_stream_that_breaks_fails_the_trial_and_a_new_instance_takes_over(session: Any) -> None:
    def breaks(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | None:
        return None if job.trial == 2 else steady(job, worker)

    lines, stage, _ = session(experiment(factors={"workers": (1,)}), breaks)
    assert [end.status for end in ends(lines)] == ["ok", "failed", "ok", "ok", "ok", "ok"]
    assert len(stage.started) == 2


@pytest.mark.parametrize("value", [10**18 + 1, -(10**18) - 1, -5])
def test_a_value_that_nothing_can_read_is_not_kept(session: Any, value: int) -> None:
    def forged(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        return {("wall_ns", "around"): value} if job.trial == 2 else steady(job, worker)

    lines, stage, _ = session(experiment(factors={"workers": (1,)}), forged)
    (failed,) = (end for end in ends(lines) if end.status == "failed")
    assert (failed.trial, "which nothing reads" in (failed.reason or "")) == (2, True)
    assert len(stage.started) == 2
    assert all(line.value >= 0 for line in lines if isinstance(line, record.Sample))


def good(lines: list[journal.Line]) -> dict[int, list[int]]:
    """Blocks of the good trials by cell."""
    begun = {line.trial: line for line in starts(lines)}
    found: dict[int, list[int]] = {}
    for end in ends(lines):
        if end.status == "ok":
            found.setdefault(begun[end.trial].cell, []).append(begun[end.trial].block)
    return {cell: sorted(blocks) for cell, blocks in found.items()}


def test_a_failed_trial_is_repeated_at_the_end_of_its_block_with_its_input(session: Any) -> None:
    failing = {3, 6, 9, 10, 17}

    def sometimes(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        return "exit code 3" if job.trial in failing else steady(job, worker)

    lines, _, _ = session(experiment(inputs=5), sometimes)
    assert good(lines) == {cell: list(range(5)) for cell in range(4)}
    assert {stop.reason for stop in stops(lines).values()} == {"fixed"}
    assert {stop.trials for stop in stops(lines).values()} == {5}
    in_block: dict[int, list[journal.TrialStart]] = {}
    for line in starts(lines):
        in_block.setdefault(line.block, []).append(line)
    for some in in_block.values():
        assert [line.position for line in some] == list(range(len(some)))
        assert len({line.seed for line in some}) == 1
        assert sorted(line.cell for line in some[:4]) == [0, 1, 2, 3]


def test_a_command_that_fails_every_third_time_has_its_good_trials(session: Any) -> None:
    def third(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        return "exit code 3" if job.trial % 3 == 0 else steady(job, worker)

    asked = experiment(stopping=Stopping(trials=20, budget_s=None))
    lines, _, _ = session(asked, third)
    assert {cell: len(blocks) for cell, blocks in good(lines).items()} == dict.fromkeys(
        range(4), 20
    )


def test_what_begins_to_fail_for_good_is_given_up_in_that_session(session: Any) -> None:
    def breaks(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        return "no room" if job.trial > 8 else steady(job, worker)

    asked = experiment(stopping=Stopping(trials=30, budget_s=None))
    lines, _, _ = session(asked, breaks)
    assert {cell: len(blocks) for cell, blocks in good(lines).items()} == dict.fromkeys(range(4), 2)
    assert len(ends(lines)) <= 8 + 4 * TRIES_IN_A_ROW
    assert {stop.reason for stop in stops(lines).values()} == {"failed"}
    # The next session fills what is missing.
    lines, _, _ = session(asked)
    assert {cell: len(blocks) for cell, blocks in good(lines).items()} == dict.fromkeys(
        range(4), 30
    )


def test_standard_error_is_read_after_a_failure_until_one_was_read(session: Any) -> None:
    captured: list[bool] = []

    def sometimes(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        assert isinstance(job.workload, record.Command)
        captured.append(job.workload.capture is not None)
        return "exit code 3" if job.trial in (2, 5, 9) else {("wall_ns", "around"): 1e6}

    asked = experiment(
        workloads=(WorkloadSpec(name="a", command=("a",)),),
        factors={"workers": (1,)},
        stopping=Stopping(trials=8, budget_s=None),
    )
    lines, _, _ = session(asked, sometimes)
    assert captured == [number in (3, 4, 5) for number in range(1, 12)]
    assert [line.error_captured for line in starts(lines)] == captured


def test_what_may_fail_by_chance_is_tried_more_often_before_it_is_given_up(session: Any) -> None:
    def late(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        return "exit code 3" if job.trial <= 9 else {("wall_ns", "around"): 1e6}

    asked = experiment(
        workloads=(WorkloadSpec(name="a", command=("a",)),),
        factors={"workers": (1,)},
        stopping=Stopping(trials=8, budget_s=None),
    )
    lines, _, _ = session(asked, late)
    assert {stop.reason for stop in stops(lines).values()} == {"fixed"}
    assert len(ends(lines)) == 17


def test_when_observers_end_again_and_again_the_session_does(
    session: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Mortal(BlindObserver):
        def watch(self, trial: int, groups: list[record.WatchedGroup]) -> None:
            if trial == 7:
                raise NoObserverError("5 observers of this session have ended", "--resume")

    monkeypatch.setattr("tare.experiment.session.session.Observer", Mortal)
    with pytest.raises(NoObserverError) as told:
        session(experiment())
    assert told.value.exit_code == 13
    lines = list(journal.read(tmp_path / "results/journal/1.ndjson"))
    assert [end.status for end in ends(lines)] == 6 * ["ok"] + ["failed"]


def test_a_level_that_always_fails_is_given_up_after_a_few_tries(session: Any) -> None:
    lines, _, _ = session(experiment(), broken=("unshare",))
    reasons = {cell: stop.reason for cell, stop in stops(lines).items()}
    assert reasons == {0: "fixed", 1: "fixed", 2: "failed", 3: "failed"}
    failed = [end for end in ends(lines) if end.status == "failed"]
    assert 3 <= len(failed) <= 4
    assert all("unshare is broken" in (end.reason or "") for end in failed)


def test_an_experiment_in_which_all_fails_is_an_error_that_says_why(session: Any) -> None:
    with pytest.raises(TrialError, match="is broken"):
        session(experiment(), broken=("bare", "unshare"))


def test_a_wrong_result_ends_the_session_and_what_was_measured_stays(
    session: Any, tmp_path: Path
) -> None:
    def once(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | str:
        return "wrong: 2 + 2 = 5" if job.trial == 3 else steady(job, worker)

    with pytest.raises(TrialError, match=r"trial 3 \(.*(platform|workers) .*\): wrong result"):
        session(experiment(), once)
    lines = list(journal.read(tmp_path / "results/journal/1.ndjson"))
    assert [end.status for end in ends(lines)] == ["ok", "ok", "failed"]
    assert any(isinstance(line, record.Fault) and line.kind == "check" for line in lines)
    last = lines[-1]
    assert isinstance(last, journal.SessionEnd)
    assert last.reason == "failed"


def test_resuming_runs_what_is_missing_in_a_new_session(session: Any, tmp_path: Path) -> None:
    session(experiment(stopping=Stopping(trials=2, budget_s=None)))
    first = tmp_path / "results/journal/1.ndjson"
    text = first.read_text().splitlines(keepends=True)
    # A kill -9 in the middle of the last trial of the second block: no end, half a line.
    last = max(i for i, line in enumerate(text) if json.loads(line)["record"] == "ended")
    first.write_text("".join(text[:last]) + text[last][:10])
    lines, _, quiet = session(experiment())
    done: dict[int, int] = {}
    cells = {line.trial: line.cell for line in starts(lines)}
    for end in ends(lines):
        done[cells[end.trial]] = done.get(cells[end.trial], 0) + 1
    assert done == dict.fromkeys(range(4), 5)
    assert len(quiet.trials) == 20 - 7
    assert len({line.trial for line in starts(lines)}) == len(starts(lines))
    assert [line.session for line in lines if isinstance(line, journal.Session)] == [1, 2]


def test_what_a_missing_right_costs_is_noted_once(session: Any) -> None:
    lines, _, _ = session(experiment())
    notes = [line.message for line in lines if isinstance(line, journal.Note)]
    assert [note for note in notes if "it is blind" in note] == notes


def test_nothing_is_left_in_memory(session: Any, tmp_path: Path) -> None:
    session(experiment())
    assert [path.name for path in tmp_path.glob("tare-*")] == []


def test_each_quota_has_an_instance_that_is_held_to_it(session: Any) -> None:
    asked = experiment(
        factors={"workers": (2,), "quota": (0.1, 1.5)}, instances="shared", quota_period_s=0.02
    )
    lines, stage, _ = session(asked)
    given = sorted((p.cores, p.period_us) for _, p in stage.started)
    assert given == [(0.1, 20_000), (1.5, 20_000)]
    assert {line.levels["quota"] for line in starts(lines)} == {"0.1", "1.5"}


def test_sizes_give_cores_and_cpus(session: Any) -> None:
    size = SizeSpec(cores=0.5, cpuset=1, memory_bytes=1 << 20)
    asked = experiment(factors={"workers": (2,), "size": ("a",)}, sizes={"a": size})
    lines, stage, _ = session(asked)
    assert {(p.cores, p.memory_bytes) for _, p in stage.started} == {(0.5, 1 << 20)}
    assert starts(lines)[0].cpus == ((0,), (1,))


def test_in_windows_nothing_is_rehearsed_and_every_job_has_its_window(session: Any) -> None:
    jobs: list[record.Trial] = []

    def throughput(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        jobs.append(job)
        return {("throughput", "self"): 1e9}

    asked = experiment(
        workloads=(WorkloadSpec(name="exp_float", kernel="exp_float", timeout_s=1.0),),
        factors={"workers": (2,), "quota": (0.5, 2.0)},
        instances="shared",
        stopping=Stopping(trials=2, budget_s=None),
        window=WindowSpec(periods=30),
    )
    lines, _, _ = session(asked, throughput)
    assert [line.rehearsal for line in starts(lines)] == [False] * 4
    cells = {line.trial: line.levels["quota"] for line in starts(lines)}
    for job in jobs:
        assert job.window is not None
        assert (job.window.periods, job.window.period_ns) == (30, 100_000_000)
        assert job.window.throttled == (cells[job.trial] == "0.5")
        assert isinstance(job.workload, record.Kernel)
        assert job.workload.repetitions == 1
        # Two windows and two executions: a time-out is of an execution, not of a window.
        assert job.timeout_ns == 2 * (3_000_000_000 + 1_000_000_000)


@pytest.mark.parametrize(
    ("changes", "cell", "throttled"),
    [
        ({}, {"quota": 0.9}, True),
        ({}, {"quota": 1.0}, False),
        ({"instances": "shared"}, {"quota": 1.9, "workers": 2}, True),
        ({"instances": "shared"}, {"quota": 2.0, "workers": 9}, False),
        ({}, {"quota": 1.9, "workers": 2}, False),
        ({}, {"quota": 1.9, "workload": WorkloadSpec(name="a", command=("a",))}, True),
        ({"sizes": {"s": SizeSpec(cores=1.0, cpuset=1)}}, {"size": "s"}, False),
        ({"sizes": {"s": SizeSpec(cores=0.5, cpuset=1)}}, {"size": "s"}, True),
        ({"sizes": {"s": SizeSpec(memory_bytes=1)}}, {"size": "s"}, False),
        ({}, {}, False),
    ],
)
def test_a_window_begins_throttled_where_the_quota_is_less_than_can_be_used(
    changes: dict[str, Any], cell: dict[str, Any], throttled: bool
) -> None:
    given = window(
        experiment(window=WindowSpec(), **changes),
        Cell(**({"cell": 0, "workload": KERNEL} | cell)),
        cpus=2,
    )
    assert given is not None
    assert given.throttled is throttled


def test_the_longest_unused_instance_makes_room(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.experiment.session.pool.MOST_RESIDENT", 3)
    living: list[int] = []

    def counted(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        living.append(sum(not channel.closed for channel in stages[0].channels))
        return steady(job, worker)

    stages: list[Stage] = []
    original = Stage.start
    monkeypatch.setattr(Stage, "start", lambda s, *a: (stages.append(s), original(s, *a))[1])
    quotas = (0.1, 0.2, 0.3, 0.4)
    asked = experiment(factors={"quota": quotas}, order="sequential")
    session(asked, counted)
    assert max(living) == 3
    # In order, each is started once; in blocks of four, some are ended before they are needed.
    assert [place.cores for _, place in stages[0].started] == list(quotas)
    assert len({place.name for _, place in stages[0].started}) == 4


def test_a_trial_keeps_all_of_its_instances_however_many(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.experiment.session.pool.MOST_RESIDENT", 1)
    lines, _, _ = session(experiment(factors={"workers": (1, 3)}))
    assert {end.status for end in ends(lines)} == {"ok"}


def instances(lines: list[journal.Line], kind: type) -> list[Any]:
    return [line for line in lines if isinstance(line, kind)]


def test_every_instance_is_written_down_with_its_clocks_from_start_to_end(session: Any) -> None:
    lines, stage, _ = session(
        experiment(factors={"platform": ("bare", "unshare"), "size": ("1c64m",)})
    )
    begun = instances(lines, journal.InstanceStart)
    assert [one.instance for one in begun] == [place.name for _, place in stage.started]
    assert {one.platform: one.cold for one in begun} == {"bare": True, "unshare": True}
    limited = [one for one in begun if one.size == "1c64m"]
    assert {(one.cores, one.memory_bytes, one.cpus) for one in limited} == {(1, 64 << 20, None)}
    ended = instances(lines, journal.InstanceEnd)
    assert {one.instance for one in ended} == {one.instance for one in begun}
    checked = [one.instance for one in instances(lines, journal.ClockCheck)]
    assert sorted(checked) == sorted(2 * [one.instance for one in begun])


def seeing(**facts: int) -> Callable[[Any], dict[str, int]]:
    return lambda place: facts


def test_a_pinned_instance_is_given_cpus_and_no_quota(session: Any) -> None:
    asked = experiment(factors={"size": ("1c",), "pinning": ("none", "pinned"), "workers": (2,)})
    lines, stage, _ = session(asked)
    given = {(place.cores, place.cpus) for _, place in stage.started}
    assert given == {(1, None), (None, (0,)), (None, (1,))}
    assert {end.status for end in ends(lines)} == {"ok"}


PINNED = {"platform": ("bare", "unshare"), "size": ("1c",), "pinning": ("pinned",)}


def test_what_is_seen_inside_is_kept(session: Any) -> None:
    lines, _, _ = session(
        experiment(factors=PINNED), seen=seeing(cpus_affinity=1, memory_total_bytes=5)
    )
    seen = [f for f in instances(lines, journal.MachineFact) if f.instance is not None]
    assert {f.name for f in seen} == {"cpus_affinity", "memory_total_bytes"}


def test_what_is_seen_inside_must_be_what_was_asked(session: Any) -> None:
    with pytest.raises(TrialError, match="asked for 1 CPU, and 2 CPUs can be used inside"):
        session(experiment(factors=PINNED), seen=seeing(cpus_affinity=2))


WHOLE = {"cpus_affinity": 2, "memory_total_bytes": 480 << 20}
MACHINE_SIZE = {"platform": ("bare",), "size": ("2c512m",)}


def test_what_the_observer_may_not_see_is_noted_once(session: Any) -> None:
    lines, _, _ = session(experiment())
    note = sentence(
        message(
            "the kernel does not permit observing the CPUs; each agent observes its own "
            "process, or times it from outside: {why}",
            why=BlindObserver.refusal,
        )
    )
    assert [line.message for line in instances(lines, journal.Note)] == [note]


def test_probes_that_fail_end_no_session(tmp_path: Path) -> None:
    def fails(moment: str) -> Any:
        raise TareError(f"too busy {moment}")

    writer = journal.Writer(tmp_path / "journal")
    request: Any = SimpleNamespace(weigh=fails, probing=SHORT_PROBING, progress=Quiet())
    weigh(request, RecordedSession("tare-000000", 1, writer, Quiet()), "after")
    writer.close()
    noted = message(
        "the machine could not be probed {moment} the trials: {why}",
        moment="after",
        why="too busy after",
    )
    assert sentence(noted) in (tmp_path / "journal").read_text()


@pytest.mark.parametrize(
    ("awaits_bare", "group", "remedy", "shown"),
    [
        (
            True,
            "none: not permitted",
            BlindObserver.remedy,
            "seen; counted; try: " + BlindObserver.remedy,
        ),
        (True, "none: not permitted", None, "seen; counted; try: tare doctor"),
        (True, "v2", None, "seen; try: tare doctor"),
        (False, None, None, "seen; try: tare doctor"),
    ],
)
def test_what_missing_rights_cost_is_one_line_with_a_command(
    tmp_path: Path, awaits_bare: bool, group: str | None, remedy: str | None, shown: str
) -> None:
    told: list[str] = []
    progress: Any = SimpleNamespace(note=told.append)
    writer = journal.Writer(tmp_path / "journal")
    kept = RecordedSession("tare-000000", 1, writer, progress, awaits_bare=awaits_bare)
    kept.limit(message("seen: why"), message("seen"), remedy)
    for name, platform in (("cpus", "unshare"), ("cgroup", "bare"), ("cgroup", "bare")):
        if name == "cpus" or group is not None:
            fact = journal.MachineFact(
                name=name, value=group or 1, source="agent", platform=platform
            )
            kept.keep([fact])
    writer.close()
    (line,) = told
    assert line.startswith("limited")
    counted = "CPU time and memory are those of processes that have ended"
    assert line.partition(": ")[2] == shown.replace("counted", counted)
    # The result has the reasons.
    assert "Seen: why." in (tmp_path / "journal").read_text()


def test_an_emulation_is_noted(session: Any) -> None:
    lines, _, _ = session(
        experiment(factors=MACHINE_SIZE), machines=("bare",), seen=seeing(**WHOLE)
    )
    note = sentence(
        message(
            "{platform} is EMULATED: such times do not hold on hardware, and no overhead is "
            "derived from them",
            platform="bare",
        )
    )
    assert note in [note.message for note in instances(lines, journal.Note)]


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({"cpus_affinity": 1}, "asked for 2 CPUs, and 1 CPU can"),
        (
            {"memory_total_bytes": 1 << 30},
            "asked for 512 MiB of memory, and its kernel has 1.00 GiB",
        ),
        ({"memory_total_bytes": 256 << 20}, "its kernel has 256 MiB"),
    ],
)
def test_a_machine_of_its_own_has_the_memory_and_the_processors_of_its_size(
    session: Any, seen: dict[str, int], why: str
) -> None:
    with pytest.raises(TrialError, match=why):
        session(experiment(factors=MACHINE_SIZE), machines=("bare",), seen=seeing(**(WHOLE | seen)))


def test_workers_of_one_machine_meet_where_the_agent_says(session: Any) -> None:
    places = []

    def meeting(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
        assert job.rendezvous is not None
        places.append(job.rendezvous.handout)
        return steady(job, worker)

    asked = experiment(factors={"platform": ("bare",), "workers": (2,)}, instances="shared")
    session(asked, meeting, machines=("bare",))
    assert set(places) == {None}


def test_workers_of_several_machines_cannot_meet(session: Any) -> None:
    with pytest.raises(TrialError, match="no memory to meet in"):
        session(experiment(factors={"workers": (2,)}), machines=("bare",))


def test_a_machine_that_was_lost_in_a_trial_is_made_anew_for_the_next(session: Any) -> None:
    def sometimes(job: record.Trial, worker: int) -> dict[tuple[str, str], float] | None:
        return None if job.trial == 2 else steady(job, worker)

    lines, stage, _ = session(experiment(factors={}), sometimes, machines=("bare",))
    assert [end.status for end in ends(lines)] == ["ok", "failed", "ok", "ok", "ok", "ok"]
    assert len(stage.started) == 2
    lost = [c.instance for c in instances(lines, journal.ClockCheck)]
    assert len(lost) == 3, "a lost agent is asked nothing"


def test_an_impossible_value_that_a_program_prints_reaches_no_journal() -> None:
    written: list[object] = []
    cell: Any = None
    resources: Any = SimpleNamespace(write=written.append)
    trial = RunningTrial(
        resources=resources, number=1, block=0, cell=cell, cpus=(None,), seed=0, repetitions=None,
        rehearsal=False, levels={}, parts=(),
    )  # fmt: skip
    samples = [
        record.Sample(
            id=1, trial=1, worker=0, iteration=0, phase="measured", metric="score",
            source="printed", value=value,
        )
        for value in (1.0, 2e44, -2e44)
    ]  # fmt: skip
    assert trial.keep(samples) == "score is 2e+44, which no program measures"
    assert written == samples[:1]
