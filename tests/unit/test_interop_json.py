"""Reading of foreign JSON: limits, and places that are named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tare.errors import InputError
from tare.readers import json_file
from tare.readers.readings import counted, left_out, readings, told_apart
from tare.readers.series import Series
from tare.readers.text_file import label
from tare.render.words import text
from tare.results.message import Message, message


def written(folder: Path, data: bytes | str) -> Path:
    file = folder / "results.json"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ('{"results": [1, 2', r"ends early: line 1, column 18"),
        ('{\n "results": "ab', r"ends early: line 2, column 13"),
        ('{\n "results": [1 2]}', r"line 2, column 16: not JSON \(Expecting ',' delimiter\)"),
        ("[]\n[]", r"holds 2 JSON documents: the second begins in line 2, column 1"),
        ("[" * 100_000, r"line 1, column 201: nested deeper"),
        ('{"a":' * 100_000, r"line 1, column 1001: nested deeper"),
        ("[[1,\n" + "7" * 5000 + "]", r"line 2, column 1: a number of more than 4,300 digits"),
        (b'{"a":\n "\xe4"}', r"line 2: byte 8 \(0xe4\) is not UTF-8"),
        (b'\xff\xfe{\0"', r"line 1: byte 4 \(0x22\) is not UTF-16"),
        (b"\x00\x01\x02", r"line 1, column 1: not JSON"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(
    tmp_path: Path, data: bytes | str, complaint: str
) -> None:
    file = written(tmp_path, data)
    with pytest.raises(InputError, match=complaint) as told:
        json_file.load(file)
    assert str(file) in told.value.message
    assert told.value.hint


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_marked_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    data = '{"naïve": [1]}'.encode(encoding)
    root = json_file.load(written(tmp_path, data))
    assert root.value == {"naïve": [1]}
    assert json_file.outline(data) == {"naïve"}


def test_a_file_above_the_limit_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_file, "MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        json_file.load(written(tmp_path, "[" + " " * (1 << 20) + "]"))


def test_a_million_keys_are_only_many(tmp_path: Path) -> None:
    many = json.dumps({str(i): i for i in range(1_000_000)})
    assert len(json_file.load(written(tmp_path, many)).value) == 1_000_000


def test_documents_may_follow_each_other(tmp_path: Path) -> None:
    file = written(tmp_path, 'warning: 3 {\n{"a": 1}\n\n {"a": 2}{"a": 3}\n')
    nodes = json_file.load_each(file)
    assert [node.at("a").value for node in nodes] == [1, 2, 3]
    assert [node.path for node in nodes] == ["document 1", "document 2", "document 3"]
    nodes = json_file.load_each(written(tmp_path, '{"a": 1}'))
    assert nodes[0].at("a").path == "a"
    with pytest.raises(InputError, match=r"ends early: line 2, column 6"):
        json_file.load_each(written(tmp_path, '{"a": 1}\n{"a":'))
    with pytest.raises(InputError, match=r"line 1, column 1: not JSON"):
        json_file.load_each(written(tmp_path, "warning"))
    collected = json_file.load_each(written(tmp_path, '[{"a": 1}, {"a": 2}]'))
    assert [node.at("a").value for node in collected] == [1, 2]
    with pytest.raises(InputError, match="the list of documents is empty"):
        json_file.load_each(written(tmp_path, "[]"))


@pytest.mark.parametrize(
    ("before", "after", "lines", "line", "first"),
    [
        ("", "", 0, 0, ""),
        ("[INFO] start\n\n{brace\n", "", 2, 1, "'[INFO] start'"),
        ("", "\n\ndone: [100%]\n", 1, 3, "'done: [100%]'"),
        ("Jobs: 1\rJobs: 0\r", " trailing\nlast", 4, 1, "'Jobs: 1'"),
        ("warning\n" * 100_000, "", 100_000, 1, "'warning'"),
    ],
)
def test_text_around_a_document_is_skipped_and_told(
    tmp_path: Path, before: str, after: str, lines: int, line: int, first: str
) -> None:
    file = written(tmp_path, f'{before}{{"a": 1}}{after}')
    root = json_file.load(file)
    assert (root.value, root.path) == ({"a": 1}, "")
    told = (
        (
            message(
                "{n | counted('line')} of other text around the JSON left out, the first is line "
                "{line}: {found}",
                n=lines,
                line=line,
                found=first,
            ),
        )
        if lines
        else ()
    )
    assert root.notes == told
    assert json_file.load_each(file)[0].notes == told
    assert json_file.first_document(file, 4).startswith(b'{"a"')


def test_text_inside_a_document_is_refused_with_its_place(tmp_path: Path) -> None:
    file = written(tmp_path, 'start\n{"a": [1,\nwarning: slow\n 2]}')
    complaint = r"line 3, column 1: not JSON \(Expecting value\): 'warning: slow'"
    with pytest.raises(InputError, match=complaint) as told:
        json_file.load(file)
    assert told.value.hint
    assert "did another program write into it?" in told.value.hint


def test_a_value_knows_its_path(tmp_path: Path) -> None:
    file = written(tmp_path, '{"results": [{"the times": [0.1], "n": null, "m": 3}]}')
    root = json_file.load(file)
    result = next(root.at("results").each())
    with pytest.raises(InputError, match=r"results\[0\].'the times': expected an object"):
        result.at("the times").find("x")
    with pytest.raises(InputError, match=r"results\[0\]: has no 'n'"):
        result.at("n")
    with pytest.raises(InputError, match=r"results\[0\]\.m: expected a list, found 3"):
        result.at("m").elements()
    with pytest.raises(InputError, match=r"results: expected a text, found a list"):
        root.at("results").text()
    with pytest.raises(InputError, match=r"results: expected an object, found a list"):
        dict(root.at("results").pairs())


def test_the_outline_of_a_head_needs_no_whole_text() -> None:
    head = b'{"a": [{"b": {"c": "d:e,{", "f'
    assert json_file.outline(head) == {"a", "a[].b", "a[].b.c"}
    assert json_file.outline(b'[{"b" : 1}, {"c":') == {"[].b", "[].c"}
    assert json_file.outline(b"b,c\n1,2\n") == set()
    assert json_file.outline(b']}]{"a":1') == set()
    json_file.outline(b'{"a": 1}]]}}{"b": [')


def at(place: str, found: str) -> Message:
    return message("{place} is {found}", place=place, found=found)


def test_what_is_no_number_is_left_out_and_told() -> None:
    raw = [1, "2", None, True, float("nan"), float("inf"), 10**400, -3.0, 4.5]
    found = readings(raw, "times", scale=2)
    np.testing.assert_array_equal(found.values, [2, 9])
    np.testing.assert_array_equal(found.kept, [0, 8])
    assert {d.kind for d in found.defects} == {"corrupt"}
    assert list(found.defects) == [
        left_out(4, 9, "not_a_number", at("times[1]", "'2'")),
        left_out(2, 9, "infinite", at("times[5]", "inf")),
        left_out(1, 9, "negative", at("times[7]", "-3.0")),
    ]
    assert list(readings([-3.0], "drift", negative=True).values) == [-3]


def test_series_of_one_name_are_told_apart() -> None:
    pair = [Series({"command": "a"}, np.ones(1)), Series({"command": "a"}, np.ones(1))]
    other = Series({"command": "a"}, np.ones(1), metric="memory")
    keys = [dict(one.key) for one in told_apart([*pair, other])]
    assert keys == [{"command": "a"}, {"command": "a", "occurrence": "2"}, {"command": "a"}]


def test_names_cannot_command_a_terminal() -> None:
    assert label("a\x1b[2Jb\n\ud800ü") == "a\\x1b[2Jb\\n\\ud800ü"


def test_counts_are_told_with_their_range() -> None:
    assert text(counted([1], "run")) == "1 run"
    assert text(counted([10, 10], "run")) == "10 runs"
    assert text(counted([10, 1000], "process")) == "10 to 1,000 processes"
