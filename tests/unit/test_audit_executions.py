"""What an execution is in files of each tool, how several become trials, and unused options."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from imported import DATA
from said import Phrase, template
from steps import brings, command, is_advice

from tare.errors import InputError
from tare.features.audit.audit import Audit, audit
from tare.features.audit.messages import headline, shared
from tare.features.audit.next_steps import follow_up
from tare.features.audit.question import Question
from tare.readers import ColumnOptions
from tare.render.words import text

#: Means of six processes of one benchmark, in ns.
LEVELS = [1000, 1004, 997, 1002, 999, 1001]
ROUNDS = np.random.default_rng(3).normal(1, 0.001, 12)


def google(folder: Path, run: int, level: float) -> Path:
    entry = {"name": "BM_sort", "run_name": "BM_sort", "iterations": 100, "time_unit": "ns"}
    runs = [{**entry, "real_time": level * r, "cpu_time": level * r} for r in ROUNDS]
    context = {"date": "2026-01-01", "num_cpus": 2, "executable": "./bench", "host_name": "h"}
    file = folder / f"run{run}.json"
    file.write_text(json.dumps({"context": context, "benchmarks": runs}))
    return file


def pytest_benchmark(folder: Path, run: int, level: float) -> Path:
    stats = {"data": list(1e-9 * level * ROUNDS), "rounds": len(ROUNDS), "iterations": 1}
    document = {
        "machine_info": {"node": "h"},
        "commit_info": {"id": "c0ffee"},
        "benchmarks": [{"name": "test_sort", "fullname": "t.py::test_sort", "stats": stats}],
    }
    file = folder / f"run{run}.json"
    file.write_text(json.dumps(document))
    return file


def criterion(folder: Path, run: int, level: float) -> Path:
    samples = folder / f"run{run}" / "sort" / "new"
    samples.mkdir(parents=True)
    sample = {"sampling_mode": "Flat", "iters": [1.0] * 12, "times": list(level * ROUNDS)}
    (samples / "sample.json").write_text(json.dumps(sample))
    (samples / "benchmark.json").write_text(json.dumps({"group_id": "sort"}))
    return folder / f"run{run}"


def go(folder: Path, run: int, level: float) -> Path:
    """Append, as the remedy does."""
    file = folder / "bench.txt"
    lines = "".join(f"BenchmarkSort-2\t100\t{level * r:.3f} ns/op\n" for r in ROUNDS)
    with file.open("a") as target:
        target.write(f"goos: linux\npkg: sort\n{lines}PASS\nok\tsort\t1s\n")
    return file


def go_files(folder: Path, run: int, level: float) -> Path:
    one = folder / f"{run}"
    one.mkdir()
    return shutil.move(go(one, run, level), folder / f"bench{run}.txt")


WRITERS = [google, pytest_benchmark, criterion, go, go_files]


def audited(files: list[Path], **columns: object) -> Audit:
    return audit(list(dict.fromkeys(files)), Question(columns=ColumnOptions(**columns)))


@pytest.mark.parametrize("write", WRITERS)
def test_one_process_is_doubtful_and_six_are_six_trials(
    write: Callable[[Path, int, float], Path], tmp_path: Path
) -> None:
    first = write(tmp_path, 0, LEVELS[0])
    (alone,) = audited([first]).series
    assert alone.trust.verdict == "DOUBT"
    assert [template(reason) for reason in alone.trust.reasons] == ["{said}"]
    following = follow_up(audited([first]), has_page=True)
    assert is_advice(following) == (write is google)
    assert brings(following) == "more executions"
    assert "--trial" not in command(following)
    files = [first, *(write(tmp_path, i, level) for i, level in enumerate(LEVELS[1:], 1))]
    (together,) = audited(files).series
    assert together.trust.verdict == "TRUST"
    assert together.n == 6
    assert together.trials.values / 1e-9 == pytest.approx(
        np.array(LEVELS) * ROUNDS.mean(), rel=1e-4
    )
    assert "file" not in together.key


@pytest.mark.parametrize("write", [google, pytest_benchmark, criterion, go_files])
def test_fewer_files_stay_apart_and_so_do_files_that_are_named(
    write: Callable[[Path, int, float], Path], tmp_path: Path
) -> None:
    files = [write(tmp_path, i, level) for i, level in enumerate(LEVELS)]
    assert len(audited(files[:5]).series) == 5
    assert len(audited(files, group=("file",)).series) == 6
    compared = audited(files, compare=("file",))
    assert len(compared.comparisons) == 15
    assert {c.metric for c in compared.comparisons} == {"time"}
    # How far processes differ is not known from one of each.
    assert all(c.location.low is None for c in compared.comparisons)
    assert not any(c.verdict.conclusive for c in compared.comparisons)


@pytest.mark.parametrize("write", [google, criterion, go_files])
def test_executions_in_two_folders_are_compared(
    write: Callable[[Path, int, float], Path], tmp_path: Path
) -> None:
    files = []
    for name, factor in (("before", 1.0), ("after", 1.1)):
        (tmp_path / name).mkdir()
        files += [write(tmp_path / name, i, factor * x) for i, x in enumerate(LEVELS)]
    (found,) = audited(files, compare=("folder",)).comparisons
    assert (found.location.n, found.verdict.conclusive) == (6, True)
    assert found.location.low < 1.1 < found.location.high
    assert (Path(found.a).name, Path(found.b).name) == ("before", "after")


@pytest.mark.parametrize("write", [google, criterion])
def test_executions_in_each_of_two_folders_are_two_sets(
    write: Callable[[Path, int, float], Path], tmp_path: Path
) -> None:
    files = []
    for name, factor in (("before", 1.0), ("after", 1.001)):
        (tmp_path / name).mkdir()
        files += [write(tmp_path / name, i, factor * x) for i, x in enumerate(LEVELS)]
    found = audited(files)
    assert [(one.n, Path(one.key["folder"]).name) for one in found.series] == [
        (6, "before"),
        (6, "after"),
    ]
    assert str(follow_up(found, has_page=True).command).endswith("--compare folder")
    assert [one.n for one in audited(files[:9]).series] == [6, 3]
    assert [one.n for one in audited(files[3:9], compare=("folder",)).series] == [3, 3]


def hyperfine(folder: Path, run: int, level: float) -> Path:
    times = list(level * ROUNDS)
    file = folder / f"run{run}.json"
    file.write_text(json.dumps({"results": [{"command": "./prog", "times": times}]}))
    return file


def test_each_file_of_several_runs_is_one_trial_of_its_folder(tmp_path: Path) -> None:
    files = []
    for name, factor in (("before", 1.0), ("after", 1.1)):
        (tmp_path / name).mkdir()
        files += [hyperfine(tmp_path / name, i, factor * x) for i, x in enumerate(LEVELS)]
    apart = audited(files)
    assert len(apart.series) == 12
    assert str(follow_up(apart, has_page=True).command).endswith("--compare folder")
    found = audited(files, compare=("folder",))
    assert [one.n for one in found.series] == [6, 6]
    assert found.series[0].trials.values == pytest.approx(np.array(LEVELS) * ROUNDS.mean())
    (compared,) = found.comparisons
    assert (compared.word, compared.location.low < 1.1 < compared.location.high) == ("slower", True)
    one_folder = audited([*files[:6], *(shutil.copy(f, tmp_path / f.name) for f in files[6:])])
    assert len(one_folder.series) == 12


def table(folder: Path, name: str, level: float) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    rows = [f"{level * r:.6f}" for r in ROUNDS]
    file.write_text("\n".join(["time_s", *rows]))
    return file


def test_tables_of_other_names_are_of_other_programs(tmp_path: Path) -> None:
    files = [
        table(tmp_path / folder, f"{name}.csv", factor * level)
        for folder, factor in (("old", 1.0), ("new", 1.1))
        for name, level in (("sort", 1), ("hash", 5))
    ]
    found = audited(files, compare=("folder",))
    assert [one.key["file"] for one in found.series] == ["sort.csv", "hash.csv"] * 2
    numbered = [
        table(tmp_path / f"{v}2", f"{name}{i}.csv", factor * level * (1 + i / 1000))
        for v, factor in (("old", 1.0), ("new", 1.1))
        for name, level in (("sort", 1), ("hash", 5))
        for i in range(1, 8)
    ]
    pooled = audited(numbered, compare=("folder",))
    assert [one.key["file"] for one in pooled.series] == ["sort*.csv", "hash*.csv"] * 2
    assert [c.location.ratio for c in pooled.comparisons] == pytest.approx([1.1, 1.1])
    assert [c.location.ratio for c in found.comparisons] == pytest.approx([1.1, 1.1])
    runs = [table(tmp_path / v, f"run{i}.csv", i + s) for v, s in (("a", 0), ("b", 0.1))
            for i in range(1, 8)]  # fmt: skip
    assert [one.n for one in audited(runs, compare=("folder",)).series] == [7, 7]


@pytest.mark.parametrize("is_named_alike", [True, False])
def test_rows_that_every_file_names_alike_are_separate(
    tmp_path: Path, *, is_named_alike: bool
) -> None:
    files = []
    for folder, factor in (("old", 1.0), ("new", 1.1)):
        (tmp_path / folder).mkdir()
        for i, level in enumerate(LEVELS):
            names = ("sort", "hash") if is_named_alike else (f"id a{i}{folder}", f"id b{i}{folder}")
            rows = [f"{name},{factor * level * k}" for name, k in zip(names, (1, 7), strict=True)]
            files.append(tmp_path / folder / f"run{i}.csv")
            files[-1].write_text("\n".join(["benchmark,time_ms", *rows]))
    found = audited(files, compare=("folder",))
    benchmarks = [one.key.get("benchmark") for one in found.series]
    assert benchmarks == (["sort", "hash"] * 2 if is_named_alike else [None] * 2)
    assert [c.location.ratio for c in found.comparisons] == pytest.approx(
        [1.1] * (1 + is_named_alike)
    )


def test_the_only_file_of_a_folder_is_one_execution(tmp_path: Path) -> None:
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    files = [hyperfine(tmp_path / "before", i, x) for i, x in enumerate(LEVELS)]
    found = audited([*files, hyperfine(tmp_path / "after", 0, 1007)], compare=("folder",))
    assert [one.n for one in found.series] == [6, 1]
    assert found.comparisons[0].location.low is None


def test_different_machines_of_two_folders_are_noted(tmp_path: Path) -> None:
    files = []
    for name, factor in (("old", 1.0), ("new", 1.1)):
        (tmp_path / name).mkdir()
        files += [google(tmp_path / name, i, factor * x) for i, x in enumerate(LEVELS)]
    (same,) = audited(files, compare=("folder",)).comparisons
    assert Phrase("difference may be theirs") not in {
        template(one) for one in same.matched.cautions
    }
    for file in files[6:]:
        document = json.loads(file.read_text())
        document["context"]["host_name"] = "h2"
        file.write_text(json.dumps(document))
    (other,) = audited(files, compare=("folder",)).comparisons
    (said,) = (one for one in other.matched.cautions if template(one) == "difference may be theirs")
    assert said.args == {"first": "h", "second": "h2"}


def test_copies_of_one_file_are_not_several_executions(tmp_path: Path) -> None:
    first = google(tmp_path, 0, LEVELS[0])
    copies = [Path(shutil.copy(first, tmp_path / f"copy{i}.json")) for i in range(5)]
    with pytest.raises(InputError, match=r"copy0\.json has the same values as .*run0\.json"):
        audited([first, *copies])


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="cannot read"):
        audited([tmp_path / "loop"])


def test_reasons_of_failures_in_several_files_are_counted_together(tmp_path: Path) -> None:
    files = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        for i, level in enumerate(LEVELS):
            codes = [int(name == "new" and k < 3) for k in range(12)]
            result = {"command": "p", "times": list(level * ROUNDS), "exit_codes": codes}
            files.append(tmp_path / name / f"run{i}.json")
            files[-1].write_text(json.dumps({"results": [result]}))
    old, new = audited(files, compare=("folder",)).series
    assert old.partly_failed is None
    assert text(new.partly_failed.said).startswith(
        "18 of 72 runs failed and are left out: exit code 1 (18)"
    )


def test_files_of_one_folder_are_to_be_separated_by_version(tmp_path: Path) -> None:
    def proposed(files: list[Path]) -> str:
        advice = follow_up(audited(files), has_page=True)
        assert template(advice) == "compares versions"
        return str(advice.args["command"])

    levels = [*LEVELS, *(x + 0.5 for x in LEVELS)]
    files = [hyperfine(tmp_path, i, x) for i, x in enumerate(levels)]
    assert proposed(files) == "tare audit --compare folder old/*.json new/*.json"
    # A shell would obey the ending of these names.
    odd = [file.rename(file.with_name(f"{file.stem}.json;touch x;#")) for file in files]
    assert proposed(odd) == "tare audit --compare folder old/* new/*"


def test_more_executions_are_numbered_after_those_there_are(tmp_path: Path) -> None:
    files = []
    for name, factor in (("old", 1.0), ("new", 1.1)):
        (tmp_path / name).mkdir()
        files += [google(tmp_path / name, i, factor * x) for i, x in enumerate(LEVELS[:3])]
    typed = command(follow_up(audited(files), has_page=True))
    old, new = tmp_path / "old", tmp_path / "new"
    assert typed.startswith(f'for i in $(seq 3 5); do for v in {old} {new}; do (cd "$v" && ')
    assert typed.endswith(f"tare audit --compare folder {old}/run*.json {new}/run*.json")


def test_files_that_are_alone_in_their_folders_are_executions_of_one(tmp_path: Path) -> None:
    files = []
    for i, x in enumerate(LEVELS):
        (tmp_path / f"{i}").mkdir()
        files.append(google(tmp_path / f"{i}", i, x))
    assert [one.n for one in audited(files).series] == [6]


@pytest.mark.parametrize(
    ("metric", "failed", "verdict"), [("cputime", None, "TRUST"), ("walltime", 12, "DOUBT")]
)
def test_the_wall_time_of_runs_killed_for_their_cpu_time_is_that_of_survivors(
    tmp_path: Path, metric: str, failed: int | None, verdict: str
) -> None:
    rng = np.random.default_rng(5)
    seconds = rng.permutation([*rng.normal(3, 0.03, 48), *[10.1] * 12])
    runs = "".join(
        f'<run name="t"><column title="status" value="{"TIMEOUT" if x > 10 else "true"}"/>'
        f'<column title="cputime" value="{x}s"/><column title="walltime" value="{x}s"/></run>'
        for x in seconds
    )
    file = tmp_path / "r.xml"
    file.write_text(f'<result benchmarkname="b" tool="T" timelimit="10 s">{runs}</result>')
    (one,) = audited([file], value=metric).series
    count = one.partly_failed
    assert (None if count is None else count.n) == failed
    assert one.n == 60 - (failed or 0)
    assert one.trust.verdict == verdict


def test_a_task_of_which_every_run_fails_is_rejected_for_that(tmp_path: Path) -> None:
    files = []
    for i in range(6):
        runs = "".join(
            f'<run name="{task}"><column title="status" value="{status}"/>'
            f'<column title="category" value="{kind}"/><column title="walltime" value="{1 + i}s"/>'
            "</run>"
            for task, status, kind in (("good", "true", "correct"), ("bad", "TIMEOUT", "error"))
        )
        files.append(tmp_path / f"r{i}.xml")
        files[-1].write_text(f'<result benchmarkname="b" tool="T">{runs}</result>')
    found = audited(files)
    good, bad = found.series
    assert (good.n, good.failed, bad.n, bad.failed) == (6, False, 0, True)
    (reason,) = bad.trust.reasons
    assert template(reason) == "{said}"
    assert (reason.args["said"].args["n"], reason.args["said"].args["total"]) == (6, 6)
    said = reason.args["said"].args["why"][0].args
    assert (said["why"], said["n"]) == ("TIMEOUT", 6)
    assert headline(found).args["failed"] == ["bad"]
    alone = tmp_path / "bad.xml"
    alone.write_text(
        files[0].read_text().replace("true", "OUT OF MEMORY").replace("correct", "error")
    )
    every = audited([alone])
    assert not every.is_of_tasks  # two tasks are too few
    assert headline(every).args["failed"] == ["good", "bad"]
    noted = shared(found.files, lambda f: f.imported.said, lambda f: f.path.name)
    assert len(noted[0].names) == 6


def test_files_of_other_programs_are_no_trials_of_one(tmp_path: Path) -> None:
    files = [google(tmp_path, i, level) for i, level in enumerate(LEVELS)]
    document = json.loads(files[-1].read_text())
    document["context"]["executable"] = "./other"
    files[-1].write_text(json.dumps(document))
    assert len(audited(files).series) == 6


def test_what_is_wrong_in_one_of_several_files_names_it(tmp_path: Path) -> None:
    files = [google(tmp_path, i, level) for i, level in enumerate(LEVELS)]
    document = json.loads(files[2].read_text())
    document["benchmarks"][0]["real_time"] = "fast"
    files[2].write_text(json.dumps(document))
    found = audited(files)
    assert found.verdict == "REJECT"
    assert found.series[0].series.defects[0].message.args["file"] == "run2.json"


REPETITIONS = DATA / "google_benchmark" / "repetitions.json"


@pytest.mark.parametrize(
    ("file", "columns", "option"),
    [
        (REPETITIONS, {"trial": "nosuch"}, "--trial"),
        (REPETITIONS, {"trial": "row"}, "--trial"),
        (DATA / "benchexec" / "repeated.xml.bz2", {"order": "nada"}, "--order"),
        (DATA / "benchexec" / "repeated.xml.bz2", {"block": "nope"}, "--block"),
        (DATA / "pytest_benchmark" / "data.json", {"value": "mean"}, "--value"),
        (DATA / "go_benchmark" / "count.txt", {"drop_missing": True}, "--drop-missing"),
    ],
)
def test_options_that_a_format_does_not_use_are_refused(
    file: Path, columns: dict[str, object], option: str
) -> None:
    with pytest.raises(InputError, match=f"{option} has no effect") as told:
        audited([file], **columns)
    assert option in (told.value.hint or "")


def test_keys_that_no_series_has_are_refused() -> None:
    with pytest.raises(InputError, match="no series has the key 'nosuch'; what was read has bench"):
        audited([REPETITIONS], group=("nosuch",))


def test_an_option_that_one_of_several_files_uses_is_allowed(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("ms\n" + "\n".join(f"{x:.4f}" for x in ROUNDS))
    assert len(audited([table, REPETITIONS], trial="row").series) > 1


@pytest.mark.parametrize(
    ("file", "value", "has"),
    [
        (DATA / "benchexec" / "repeated.xml.bz2", "nonsense", "cputime"),
        (REPETITIONS, "nonsense", "real_time"),
    ],
)
def test_a_metric_that_a_file_does_not_have_is_refused(file: Path, value: str, has: str) -> None:
    with pytest.raises(InputError, match="nonsense") as told:
        audited([file], value=value)
    assert has in (told.value.hint or "")


def test_a_value_of_benchexec_is_one_metric() -> None:
    found = audited([DATA / "benchexec" / "repeated.xml.bz2"], value="walltime")
    assert {s.series.metric for s in found.series} == {"walltime"}


def test_series_with_known_answers_get_them() -> None:
    columns = ColumnOptions(value="ms", group=("kind",), order="time", trial="row")
    found = audit([DATA / "table" / "known_answers.csv"], Question(columns=columns, precision=0.01))
    trusted = {s.key["kind"] for s in found.series if s.trust.is_sound}
    assert trusted == {"noise", "one_outlier", "bimodal_random"}
    assert {s.trust.verdict for s in found.series} == {"TRUST", "DOUBT"}


#: Ten executions of five iterations each, in a column of the name.
FORKS = [(fork, i, 10 + fork / 100 + i / 1000) for fork in range(1, 11) for i in range(5)]


@pytest.mark.parametrize("name", ["fork", "Run", "rep", "process id", "trials", "repetition"])
def test_columns_that_number_executions_are_recognised(name: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"{name},iteration,ms\n" + "\n".join(f"{f},{i},{v}" for f, i, v in FORKS))
    found = audited([file])
    (series,) = found.series
    assert (series.series.metric, series.n, series.trials_known) == ("ms", 10, True)
    assert Phrase("column, or row)") in {template(note) for note in found.files[0].imported.notes}


@pytest.mark.parametrize("name", ["iteration", "invocation", "sample", "round"])
def test_columns_that_number_what_is_inside_are_no_values_and_no_trials(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"{name},ms\n" + "\n".join(f"{i},{v}" for i, (*_, v) in enumerate(FORKS)))
    (series,) = audited([file]).series
    assert (series.series.metric, series.n, series.trials_known) == ("ms", 50, False)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("run,ms", "{},1.5"),  # numbers with a fraction
        ("fork,run", "{},{}"),  # numbers that do not begin with 0 or 1
    ],
)
def test_numbers_that_count_nothing_are_not_recognised(
    header: str, row: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(header + "\n" + "\n".join(row.format(i * 7.5, i) for i in range(2, 20)))
    with pytest.raises(InputError, match="several columns of numbers"):
        audited([file])


def test_numbers_that_recur_in_a_series_are_no_executions(tmp_path: Path) -> None:
    rows = [f"{size},{rep},{size + rep / 100}" for size in (1, 2, 3) for rep in range(20)]
    file = tmp_path / "t.csv"
    file.write_text("size,rep,ms\n" + "\n".join(rows))
    found = audited([file], value="ms")
    assert not found.series[0].trials_known
    assert Phrase("so they are") in {template(note) for note in found.files[0].imported.notes}
    assert all(s.trials_known for s in audited([file], value="ms", group=("size",)).series)
    with pytest.raises(InputError) as told:
        audited([file])
    assert "--value ms" in (told.value.hint or "")


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("time_s\n1\n2\n")
    with pytest.raises(InputError, match="is named twice"):
        audit([file, tmp_path / "." / "a.csv"])


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_iterations_are_ordered_by_their_column(tmp_path: Path, order: str) -> None:
    rng = np.random.default_rng(4)
    lines = []
    for fork in range(20):
        level = 100 * (1 + 0.01 * rng.standard_normal())
        iterations = range(20)
        if order != "ascending":
            iterations = iterations[::-1] if order == "descending" else rng.permutation(20)
        lines += [f"{fork},{i},{level * (1 + 0.5 * 0.6**i):.4f}" for i in iterations]
    file = tmp_path / "forks.csv"
    file.write_text("\n".join(["fork,iteration,ms", *lines]) + "\n")
    plain, steady = (audit([file], Question(steady=steady)).series[0] for steady in (False, True))
    assert plain.timeline is not None
    assert plain.timeline.kind == "warm-up"
    assert plain.trust.verdict == "DOUBT"
    assert steady.median.estimate == pytest.approx(0.1, rel=0.01)
