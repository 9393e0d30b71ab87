"""XML of others: streamed, bounded, without entities; BenchExec's results in it."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from said import args, template, templates

from tare.errors import InputError
from tare.readers import Imported, Series, read, xml_file
from tare.readers.readings import counted
from tare.readers.series import FailedRuns
from tare.readers.single_runs import join
from tare.results.message import Amount, message

DATA = Path(__file__).parents[1] / "data" / "interop"
REPEATED = bz2.decompress((DATA / "benchexec" / "repeated.xml.bz2").read_bytes())

BOMB = """<?xml version="1.0"?>
<!DOCTYPE result [
  <!ENTITY a "aaaaaaaaaa">
  <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
]>
<result benchmarkname="&b;"/>
"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE result [<!ENTITY x SYSTEM "file://{secret}">]>
<result benchmarkname="b">&x;</result>
"""
PARAMETER = """<?xml version="1.0"?>
<!DOCTYPE result [<!ENTITY % x SYSTEM "file://{secret}"> %x;]>
<result benchmarkname="b"/>
"""
ADDRESSED = """<?xml version="1.0"?>
<!DOCTYPE result SYSTEM "file://{secret}">
<result benchmarkname="b"><run name="&x;"/></result>
"""


def written(folder: Path, data: str | bytes, name: str = "results.xml") -> Path:
    file = folder / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


def walked(folder: Path, data: str | bytes) -> list[xml_file.Element]:
    return list(xml_file.elements(written(folder, data)))


def test_elements_come_one_by_one_with_their_lines(tmp_path: Path) -> None:
    root, first, second = walked(tmp_path, '<r a="1">\n <x b="2"><y/>t</x>\n <z/>\n</r>')
    assert (root.name, dict(root.attributes), root.line, root.children) == ("r", {"a": "1"}, 1, [])
    assert (first.name, first.line, [child.name for child in first.children]) == ("x", 2, ["y"])
    assert (second.name, second.line) == ("z", 3)


def test_elements_are_not_kept(tmp_path: Path) -> None:
    file = written(tmp_path, "<r>" + "<x/>" * 300_000 + "</r>")
    # The first are there before the file has been read to its end.
    with file.open("rb+") as target:
        target.seek(-4, 2)
        target.write(b"oops")
    found = xml_file.elements(file)
    for _ in range(200_000):
        next(found)
    with pytest.raises(InputError, match="ends early"):
        list(found)


@pytest.mark.parametrize("bomb", [BOMB, OUTSIDE, PARAMETER])
def test_entities_are_refused(tmp_path: Path, bomb: str) -> None:
    secret = written(tmp_path, "<secret/>", "secret")
    data = bomb.replace("{secret}", str(secret))
    with pytest.raises(InputError, match=r"results\.xml, line [23]: declares entities") as told:
        walked(tmp_path, data)
    assert "aaaa" not in told.value.message


def test_the_document_type_is_not_loaded(tmp_path: Path) -> None:
    secret = written(tmp_path, '<!ENTITY x "read">', "secret")
    _, run = walked(tmp_path, ADDRESSED.replace("{secret}", str(secret)))
    assert run.attributes["name"] == ""


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("<r>\n<x>", r"ends early, in line 2: no element found"),
        ("<r>\n<x a='1", r"ends early, in line 2: unclosed token"),
        ("<r>\n<x></y></r>", r"line 2, column 6: mismatched tag"),
        (b"<r>\n<x a='\xe4'/></r>", r"line 2, column \d+: not well-formed \(invalid token\)"),
        ('<?xml version="1.0" encoding="klingon"?><r/>', r"line 1: unknown encoding: klingon"),
        ("\0\0\0", r"line 1, column \d+: not well-formed"),
        ("<a>\n" * 100_000, r"line 65: nested deeper than 64 levels"),
        ("<r/><r/>", r"line 1, column 5: junk after document element"),
        ("", r"line 1: there is no element in it"),
        ("\n \n", r"ends early, in line 3: no element found"),
    ],
)
def test_what_is_no_xml_is_told_with_its_line(
    tmp_path: Path, data: str | bytes, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as told:
        walked(tmp_path, data)
    assert "results.xml" in told.value.message
    assert told.value.hint


def test_one_element_may_not_hold_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_file, "MOST_DESCENDANTS", 100)
    assert len(walked(tmp_path, "<r>" + ("<x>" + "<y/>" * 100 + "</x>") * 5 + "</r>")) == 6
    with pytest.raises(InputError, match="line 2: <x> has more than 100 elements in it"):
        walked(tmp_path, "<r>\n<x>" + "<y/>" * 101 + "</x></r>")


def test_an_endless_attribute_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_file, "_MOST_SILENT_BYTES", 1 << 20)
    with pytest.raises(InputError, match="without an element"):
        walked(tmp_path, "<r a='" + "x" * (2 << 20) + "'/>")


def test_what_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_file, "MOST_BYTES", 1 << 20)
    packed = gzip.compress(b"<r>" + b"<x/>" * (1 << 20) + b"</r>")
    with pytest.raises(InputError, match="larger than 1 MiB unpacked"):
        walked(tmp_path, packed)
    packed = gzip.compress(REPEATED)
    with pytest.raises(InputError, match="packed in it is damaged or ends early"):
        walked(tmp_path, packed[: len(packed) // 2])


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<r>", "r"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a > b --><r a="1">', "r"),
        (b"<!DOCTYPE r [<!ENTITY a '>'>]>\n<r/>", "r"),
        ("<?xml version='1.0'?><r/>".encode("utf-16"), "r"),
        (b"<!-- never closed", None),
        (b"<", None),
        (b"{}", None),
        (b"", None),
    ],
)
def test_the_root_is_seen_in_the_beginning(head: bytes, name: str | None) -> None:
    assert xml_file.root(head) == name


def series_of(imported: Imported) -> dict[tuple[str, str], list[float]]:
    return {(one.key["task"], one.metric): one.values.tolist() for one in imported.series}


def test_repeated_runs_of_a_task_are_its_trials() -> None:
    imported = read(DATA / "benchexec" / "repeated.xml.bz2")
    assert imported.format == "benchexec"
    assert {metric for _, metric in series_of(imported)} == {"cputime", "walltime", "memory"}
    one = imported.series[0]
    assert one.key == {"task": "../one.txt", "tool": "DummyTool", "options": "true"}
    assert one.trial is not None
    assert one.trial.tolist() == list(range(12))
    assert {len(each.values) for each in imported.series} == {12}
    assert {each.unit for each in imported.series if each.metric != "memory"} == {"s"}
    memory = next(each for each in imported.series if each.metric == "memory")
    assert memory.unit == "bytes"
    assert memory.values.min() > 100_000
    repetitions = args(imported.specification.repetitions, "{count} per {unit}")
    assert repetitions == {"count": counted([12], "run"), "unit": "task"}
    environment = args(imported.specification.environment, "{% if hosts > 1 %},")
    assert templates(tuple(environment["parts"])) == [
        {
            "cpu": "CPU model and",
            "error": "that it was",
            "os": "kernel",
            "ram": "memory",
            "run": "the run in",
        }[part]
        for part in ("cpu", "ram", "os")
    ]
    assert environment["hosts"] == 1


def test_failed_runs_are_told_and_left_out() -> None:
    imported = read(DATA / "benchexec" / "error.xml")
    found = series_of(imported)
    assert found["ie-local-interpolant.smt2", "cputime"] == [0.47938499999999995]
    # Its name was memUsage, without a unit.
    assert found["ie-local-interpolant.smt2", "memory"] == [45228032]
    assert found["other-cast-encoding.smt2", "walltime"] == []
    why = (("ERROR", 1),)
    assert imported.series[-1].failed == FailedRuns(1, 1, "run", why)
    assert imported.failed == FailedRuns(1, 2, "run", why)


def timed_out(folder: Path, limit: str, *times: str) -> Series:
    runs = "".join(
        f'<run name="t"><column title="status" value="TIMEOUT"/>'
        f'<column title="cputime" value="{time}"/></run>'
        for time in times
    )
    head = f'<result benchmarkname="b" timelimit="{limit}">'
    (found,) = read(written(folder, f"{head}{runs}</result>")).series
    return found


def test_a_run_out_of_time_below_the_limit_has_no_value(tmp_path: Path) -> None:
    found = timed_out(tmp_path, "10 s", "10.5s", "0.2s", "")
    assert found.values.tolist() == [np.inf, np.inf]
    assert found.above is not None
    assert found.above.tolist() == [10, 10]
    assert found.task is not None
    assert found.task.results == ("cpu_time", "killed", "cpu_time")
    assert found.failed == FailedRuns(1, 3, "run", (("TIMEOUT", 1),))


def test_a_limit_beyond_all_numbers_is_none(tmp_path: Path) -> None:
    found = timed_out(tmp_path, "1e400 s", "10.5s")
    assert found.values.tolist() == []
    assert found.task is not None
    assert found.task.limit is None


def test_a_time_that_is_none_is_told_with_its_line(tmp_path: Path) -> None:
    rows = "\n".join(
        f'<run name="t"><column title="walltime" value="{value}"/></run>'
        for value in ("1s", "2ms", "nan", "-3s", "4 MB", "")
    )
    data = f'<result benchmarkname="b" tool="t" error="interrupted">\n{rows}\n</result>'
    imported = read(written(tmp_path, data))
    (series,) = imported.series
    assert series.values.tolist() == [1, 0.002]
    assert series.trial is not None
    assert series.trial.tolist() == [0, 1]
    assert [d.kind for d in series.defects] == ["corrupt", "corrupt"]
    left_out = [args(d.message, "{fault} (") for d in series.defects]
    assert [(one["n"], one["total"], template(one["fault"])) for one in left_out] == [
        (3, 6, "not a number"),
        (1, 6, "which cannot be"),
    ]
    places = [one["at"].args["place"] for one in left_out]
    assert places == [message("the run in line {line}", line=line) for line in (4, 5)]
    assert args(imported.notes, "that it was") == {"error": "interrupted"}


def test_nothing_executed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no <run>"):
        read(written(tmp_path, '<result benchmarkname="b" tool="t"></result>'))


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    which=st.integers(0, 2),
    cut=st.tuples(st.floats(0, 1), st.floats(0, 0.3)),
    puts=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.one_of(
                st.sampled_from([b"<", b">", b"&a;", b'"', b"\0", b"\xff", b"<!ENTITY a ''>"]),
                st.binary(max_size=6),
            ),
        ),
        max_size=3,
    ),
)
def test_whatever_a_file_holds_is_read_or_refused(
    tmp_path: Path, which: int, cut: tuple[float, float], puts: list[tuple[float, bytes]]
) -> None:
    data = (
        REPEATED[:4000] + b"</result>",
        (DATA / "jmeter" / "log_xml.jtl").read_bytes()[:1500] + b"</testResults>",
        bz2.compress(REPEATED[:3000] + b"</result>"),
    )[which]
    at = int(cut[0] * len(data))
    data = data[:at] + data[at + int(cut[1] * len(data)) :]
    for where, put in puts:
        at = int(where * len(data))
        data = data[:at] + put + data[at:]
    try:
        imported = read(written(tmp_path, data))
    except InputError:
        return
    for one in imported.series:
        assert np.isfinite(one.values).all()


def test_failures_of_several_files_are_added_up() -> None:
    late, full = ("TIMEOUT", 1), ("OUT OF MEMORY", 2)
    made = [
        Series(key={}, values=np.ones(1), trial=np.zeros(1), failed=failed)
        for failed in (
            FailedRuns(1, 3, "run", (late,)), FailedRuns(3, 3, "run", (full, late)), None
        )
    ]  # fmt: skip
    both = (("TIMEOUT", 2), ("OUT OF MEMORY", 2))
    assert join(made).failed == FailedRuns(4, 9, "run", both)


def test_runs_above_a_limit_are_counted_over_several_files() -> None:
    made = [
        Series(
            key={}, values=np.array([value]), trial=np.zeros(1), unit="s",
            above=None if np.isfinite(value) else np.array([10.0]),
        )
        for value in (1.0, np.inf, np.inf)
    ]  # fmt: skip
    found = join(made).exceeded
    assert found is not None
    assert (found.args["n"], found.args["total"]) == (2, 3)
    assert found.args["limit"] == Amount(10.0, "s")
