"""Runs as BenchExec's result files: what stands in them, whatever the names are."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import exported_runs as made
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tare.errors import StoreError
from tare.features.tasks import benchexec
from tare.features.tasks.runs import Runs
from tare.readers import read

NAN = float("nan")
#: Attributes that doc/result.dtd of BenchExec 3.35 knows, by element; those that it requires.
KNOWN = {
    "result": "name benchmarkname displayName block starttime endtime date tool toolmodule version "
    "options memlimit timelimit cpuCores generator error",
    "description": "", "columns": "", "environment": "",
    "systeminfo": "hostname", "os": "name", "cpu": "cores frequency turboboostActive model",
    "ram": "size", "column": "title value hidden",
    "run": "name files properties propertyFile expectedVerdict options logfile",
}  # fmt: skip
REQUIRED = {
    "result": "benchmarkname starttime date tool toolmodule version generator",
    "os": "name", "cpu": "cores model", "ram": "size", "column": "title", "run": "name",
}  # fmt: skip
HOSTILE = (
    "tasks/\"quoted\" 'twice' & <tag>.in",
    "tasks/]]>.in",
    "tasks/<![CDATA[<!-- -->.in",
    "tasks/bell\x07 escape\x1b[31m null\x00.in",
    "tasks/tab\tline\nreturn\r.in",
    "tasks/next\x85 line\u2028.in",
    "tasks/byte-\udcff.in",
    "tasks/not-\ufffe-a-character.in",
    "tasks/\\x07.in",
    "tasks/\x07.in",
    "tasks/\\\x07.in",
    "tasks/\\\\x07.in",
    "tasks/back\\slash.in",
    "tasks/\N{DROMEDARY CAMEL} ü.in",
    "   ",
    "",
)


def parsed(path: Path) -> Element:
    text = bz2.decompress(path.read_bytes())
    root = ElementTree.fromstring(text)
    check_type(root)
    return root


def check_type(root: Element) -> None:
    """Hold a document against BenchExec's document type."""
    tags = [child.tag for child in root]
    runs = tags.count("run")
    assert tags == ["description", "columns", "systeminfo", *["run"] * runs]
    assert [child.tag for child in root.find("systeminfo") or ()] == [
        "os", "cpu", "ram", "environment",
    ]  # fmt: skip
    for element in root.iter():
        assert set(element.attrib) <= set(KNOWN[element.tag].split())
        assert set(REQUIRED.get(element.tag, "").split()) <= set(element.attrib)


def columns(run: Element) -> dict[str, str]:
    return {column.attrib["title"]: column.attrib["value"] for column in run}


def written(runs: Runs, folder: Path) -> list[Element]:
    return [parsed(path) for path in benchexec.write(runs, folder)]


def of_one(folder: Path, result: str, **given: object) -> dict[str, str]:
    """Return the columns of a run alone."""
    (root,) = written(made.runs([made.row(0, 0, result, **given)], ("a",)), folder)
    (run,) = root.findall("run")
    return columns(run)


@pytest.mark.parametrize(
    ("result", "status", "category", "reason"),
    [
        ("correct", "true", "correct", None),
        ("wrong", "false", "wrong", None),
        ("done", "done", "missing", None),
        ("timeout", "TIMEOUT", "error", "walltime"),
        ("cpu_time", "TIMEOUT", "error", "cputime"),
        ("out_of_memory", "OUT OF MEMORY", "error", "memory"),
        ("output", "FILES-SIZE LIMIT", "error", "files-size"),
        ("processes", "processes", "error", "processes"),
        ("crashed", "ERROR (7)", "error", None),
        ("killed", "KILLED BY SIGNAL 9", "error", None),
        ("unchecked", "unknown", "unknown", None),
        ("lost", "FAILED", "error", "failed"),
    ],
)
def test_a_result_has_the_status_and_the_category_of_benchexec(
    tmp_path: Path, result: str, status: str, category: str, reason: str | None
) -> None:
    found = of_one(tmp_path, result)
    assert (found["status"], found["category"]) == (status, category)
    assert found.get("terminationreason") == reason


def test_every_result_has_one() -> None:
    assert set(benchexec._OUTCOMES) == set(made.OWN)


@pytest.mark.parametrize(
    ("exit_status", "status", "title", "value"),
    [
        (1.0, "ERROR (1)", "returnvalue", "1"),
        (255.0, "ERROR (255)", "returnvalue", "255"),
        (-4.0, "KILLED BY SIGNAL 4", "exitsignal", "4"),
        (-6.0, "ABORTED", "exitsignal", "6"),
        (-11.0, "SEGMENTATION FAULT", "exitsignal", "11"),
        (-15.0, "KILLED", "exitsignal", "15"),
    ],
)
def test_a_crash_says_how(
    tmp_path: Path, exit_status: float, status: str, title: str, value: str
) -> None:
    found = of_one(tmp_path, "crashed", exit_status=exit_status)
    assert found["status"] == status
    other = {"returnvalue": "exitsignal", "exitsignal": "returnvalue"}[title]
    assert found[title] == value
    assert other not in found


def test_a_crash_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    assert of_one(tmp_path, "crashed", exit_status=NAN)["status"] == "ERROR"


def test_runs_without_exit_status_are_written(tmp_path: Path) -> None:
    runs = made.every_result()
    bare = Runs(
        runs.folders,
        runs.configurations,
        runs.tasks,
        runs.table.only(*(n for n in runs.table.names if n != "exit_status")),
    )
    root = written(bare, tmp_path)[0]
    statuses = [columns(run)["status"] for run in root.findall("run")]
    assert statuses[made.OWN.index("crashed")] == "ERROR"
    assert len(statuses) == len(made.OWN)


@pytest.mark.parametrize(
    ("ns", "seconds"),
    [
        (0.0, "0.000000000s"),
        (1.0, "0.000000001s"),
        (20_123_456.0, "0.020123456s"),
        (1e9, "1.000000000s"),
        (86_400_123_456_789.0, "86400.123456789s"),
        (9_007_199_254_740_991.0, "9007199.254740991s"),
    ],
)
def test_times_are_exact(tmp_path: Path, ns: float, seconds: str) -> None:
    found = of_one(tmp_path, "correct", cpu_ns=ns, wall_ns=ns)
    assert (found["cputime"], found["walltime"]) == (seconds, seconds)


def test_memory_is_whole_bytes(tmp_path: Path) -> None:
    assert of_one(tmp_path, "done", memory_bytes=2.0**40 + 1)["memory"] == "1099511627777B"


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    found = of_one(tmp_path, "wrong", cpu_ns=NAN, wall_ns=NAN, memory_bytes=NAN, exit_status=NAN)
    assert found == {"status": "false", "category": "wrong"}


def test_only_what_benchexec_shows_is_shown(tmp_path: Path) -> None:
    runs = made.runs([made.row(0, 0, "timeout", why="after 10 s")], ("a",))
    (root,) = written(runs, tmp_path)
    shown, hidden = [], []
    for column in root.iterfind("run/column"):
        (hidden if column.get("hidden") == "true" else shown).append(column.attrib["title"])
    assert shown == ["cputime", "memory", "status", "walltime"]
    assert hidden == ["category", "exitsignal", "terminationreason", "why"]


def test_the_head_has_the_limits_in_benchexecs_units(tmp_path: Path) -> None:
    (root,) = written(made.runs([made.row(0, 0, "done")], ("a",)), tmp_path)
    found = {name: root.get(name) for name in ("timelimit", "memlimit", "cpuCores", "options")}
    assert found == {
        "timelimit": "1.5s",
        "memlimit": "67108864B",
        "cpuCores": "1",
        "options": "./sort -n '{task}'",
    }
    assert json.loads(root.findtext("description") or "")["timeout_s"] == 10.0


def test_no_limit_is_no_attribute(tmp_path: Path) -> None:
    free = made.configuration(enforce=None, timeout_s=None)
    (root,) = written(made.runs([made.row(0, 0, "done")], ("a",), (free,), asked=None), tmp_path)
    assert not {"timelimit", "memlimit", "cpuCores"} & set(root.attrib)


def test_the_head_has_the_machine(tmp_path: Path) -> None:
    facts: dict[str, object] = {
        "cpu": "A CPU @ 2 GHz", "cpus": 8, "kernel": "6.1.0", "memory_bytes": 16_000_000_000,
        "turbo": "off",
    }  # fmt: skip
    runs = made.runs([made.row(0, 0, "done")], ("a",), facts=facts)
    (root,) = written(runs, tmp_path)
    elements = {element.tag: element.attrib for element in root.find("systeminfo") or ()}
    assert elements == {
        "os": {"name": "6.1.0"},
        "cpu": {"model": "A CPU @ 2 GHz", "cores": "8", "turboboostActive": "false"},
        "ram": {"size": "16000000000B"},
        "environment": {},
    }


def test_files_are_named_as_benchexec_names_them(tmp_path: Path) -> None:
    paths = benchexec.write(made.every_result(), tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [
        "sorting.2026-11-02_08-09-10.results.sort_bare.xml.bz2",
        "sorting.2026-11-02_08-09-10.results.sort_bubblewrap.xml.bz2",
    ]
    assert sorted(paths) == sorted((tmp_path / "new" / "folder").iterdir())
    assert {parsed(path).get("date") for path in paths} == {"2026-11-02 08:09:10 UTC"}


def test_each_trial_is_a_file(tmp_path: Path) -> None:
    rows = [
        made.row(0, task, "done", trial=trial, cpu_ns=1e9 * trial + task)
        for task in (2, 0, 1)
        for trial in (1, 2)
    ]
    rows.remove(next(row for row in rows if (row["task"], row["trial"]) == (1, 2)))
    roots = written(made.runs(rows, ("a", "b", "c")), tmp_path)
    assert [root.get("name") for root in roots] == ["sort bare trial 1", "sort bare trial 2"]
    assert [[run.get("name") for run in root.findall("run")] for root in roots] == [
        ["a", "b", "c"], ["a", "c"],
    ]  # fmt: skip
    assert [columns(run)["cputime"] for run in roots[1].findall("run")] == [
        "2.000000000s", "2.000000002s",
    ]  # fmt: skip


def test_names_that_are_alike_in_a_file_system_have_files_of_their_own(tmp_path: Path) -> None:
    levels = ["a/b", "a b", "a*b", "../../b", "a\x00b", "$HOME", "x" * 500, "x" * 501, "-n", "😀"]
    configurations = tuple(
        made.configuration(levels={"platform": "bare", "size": level}) for level in levels
    )
    rows = [made.row(place, 0, "done") for place in range(len(levels))]
    paths = benchexec.write(made.runs(rows, ("a",), configurations, experiment="-o/../e"), tmp_path)
    assert len(set(paths)) == len(levels)
    assert {path.parent for path in paths} == {tmp_path}
    for path, level in zip(paths, levels, strict=True):
        assert len(path.name.encode()) < 255
        assert not set(path.name) & set("/*?[]$~\x00 ")
        assert not path.name.startswith(("-", "."))
        described = json.loads(parsed(path).findtext("description") or "")
        assert described["levels"]["size"] == level


def test_hostile_names_are_well_formed_and_stay_different(tmp_path: Path) -> None:
    rows = [
        made.row(0, task, "crashed", why=name, exit_status=NAN) for task, name in enumerate(HOSTILE)
    ]
    hostile = made.configuration(
        workload=HOSTILE[3],
        levels={"platform": HOSTILE[6], "size": HOSTILE[4]},
        command=HOSTILE,
    )
    (root,) = written(made.runs(rows, HOSTILE, (hostile,), experiment=HOSTILE[0]), tmp_path)
    names = [run.attrib["name"] for run in root.findall("run")]
    assert len(set(names)) == len(HOSTILE)
    for name, task in zip(names, HOSTILE, strict=True):
        assert not any(character in name for character in "\t\n\r\x85\u2028")
        if task.isprintable() and "\\x" not in task:
            assert name == task
    assert json.loads(root.findtext("description") or "")["command"] == list(HOSTILE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=()), max_size=8), min_size=2, unique=True
    )
)
def test_any_texts_are_well_formed_and_stay_different(tmp_path: Path, texts: list[str]) -> None:
    rows = [made.row(0, task, "crashed", why=text) for task, text in enumerate(texts)]
    one = made.configuration(workload=texts[1], command=tuple(texts))
    some = made.runs(rows, tuple(texts), (one,), experiment=texts[0])
    (root,) = written(some, tmp_path)
    assert len({run.attrib["name"] for run in root.findall("run")}) == len(texts)


def test_tare_reads_them(tmp_path: Path) -> None:
    runs = made.every_result()
    (imported,) = [read(path) for path in benchexec.write(runs, tmp_path)[:1]]
    times = {
        series.key["task"]: series.values
        for series in imported.series
        if series.metric == "cputime" and series.values.size
    }
    solved = [task for task in runs.tasks if not task.endswith("lost.in")]
    assert set(times) <= set(solved)
    np.testing.assert_allclose(times["tasks/00-correct.in"], [0.020123456], rtol=0, atol=1e-12)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        benchexec.write(made.every_result(), tmp_path / "file")
