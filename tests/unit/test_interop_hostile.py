"""Whatever is done to a file of results: it is read, or told what is wrong with it."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported import DATA, sound

from tare import readers
from tare.errors import InputError
from tare.features.audit.raters import agreements
from tare.readers import ColumnOptions, json_file
from tare.registry import units_of

#: The formats that are read whole, and what else is to be read of each.
FORMATS = {
    "hyperfine": [None, "memory_peak_resident"],
    "pyperf": [None],
    "google-benchmark": [None, "cpu_time"],
    "jmh": [None, "gc.alloc.rate"],
    "criterion": [None],
    "pytest-benchmark": [None],
    "go-benchmark": [None, "B/op"],
    "iperf3": [None, "retransmits"],
    "fio": [None, "clat_ns"],
    "asv": [None],
    "github-action-benchmark": [None],
    "tare-json": [None, "cpu_ns"],
}
FILES = [
    pytest.param(name, file, id=f"{name}/{file.name}")
    for name in FORMATS
    for file in sorted((DATA / name.replace("-", "_")).rglob("*.*"))
    if file.name not in ("README.md", "benchmark.json")
]
JSON_FILES = [param for param in FILES if param.values[1].suffix in (".json", ".jsonl")]
NASTY: list[Any] = [
    None, True, [], {}, "", "text", "\ud800\x1b[2J", 0, -1, 10**400, 1e308, math.nan, math.inf,
    -math.inf, [[]], {"": {}}, [None], [[-1, "x"]], {"value": []},
]  # fmt: skip
#: One file with values of each format.
SMALL = (
    "hyperfine/one.json", "pyperf/command.json", "google-benchmark/once.json", "jmh/one.json",
    "criterion/sample.json", "pytest-benchmark/saved.json", "go-benchmark/events.json",
    "iperf3/tcp.json", "fio/failed.json", "tare-json/run.json", "asv/samples.json",
    "github-action-benchmark/custom.json",
)  # fmt: skip
#: The strategies have examples for many hours: `make nightly` tries more of them.
FEW, MANY = (
    settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    for examples in (10, 100)
)


def read_or_refuse(file: Path, name: str) -> None:
    traces = units_of("format")[name].traces
    with contextlib.suppress(InputError):
        assert traces is None or all(len(one.trace) for one in traces(file))
    for value in FORMATS[name]:
        for format in (name, None):
            complaint = ""
            try:
                sound(readers.read(file, ColumnOptions(value=value), format))
            except InputError as error:
                complaint = error.message
            assert not complaint or (complaint.isprintable() and file.name in complaint)


def place(value: Any, data: st.DataObject) -> tuple[Any, ...]:
    """Walk to a value: as likely into a short list as into a long one."""
    path: tuple[Any, ...] = ()
    while isinstance(value, dict | list) and value:
        if path and data.draw(st.integers(0, 4)) == 0:
            break
        keys = list(value) if isinstance(value, dict) else range(len(value))
        path = (*path, data.draw(st.sampled_from(keys)))
        value = value[path[-1]]
    return path


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Replace what is at a path, or delete it where ``new`` is Ellipsis."""
    if not path:
        return value if new is ... else new
    whole = copy.deepcopy(value)
    holder = whole
    for key in path[:-1]:
        holder = holder[key]
    if new is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return whole


@pytest.mark.parametrize(("name", "file"), [f for f in JSON_FILES if "refused" not in f.id])
def test_a_file_that_was_sorted_and_indented_is_recognised(
    tmp_path: Path, name: str, file: Path
) -> None:
    text = file.read_text()
    first, _ = json.JSONDecoder().raw_decode(text[text.index("{") :] if name == "fio" else text)
    head = json.dumps(first, sort_keys=True, indent=4).encode()[:4096]
    units = units_of("format").items()
    assert [unit for unit, format in units if format.recognises(head, file)] == [name]


@pytest.mark.parametrize(("name", "file"), JSON_FILES)
@given(data=st.data())
@FEW
def test_a_changed_value_never_breaks_the_reader(
    tmp_path: Path, name: str, file: Path, data: st.DataObject
) -> None:
    read_with_changed_values(tmp_path, name, file, data)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file"), JSON_FILES)
@given(data=st.data())
@MANY
def test_many_changed_values_never_break_the_reader(
    tmp_path: Path, name: str, file: Path, data: st.DataObject
) -> None:
    read_with_changed_values(tmp_path, name, file, data)


def read_with_changed_values(tmp_path: Path, name: str, file: Path, data: st.DataObject) -> None:
    """Replace or delete up to three values of a JSON document, and read it."""
    documents = documents_of(name, file)
    for _ in range(data.draw(st.integers(1, 3))):
        path = place(documents, data)
        documents = changed(documents, path, data.draw(st.sampled_from([*NASTY, ...])))
        if not documents:
            break
    read_or_refuse(written(documents, tmp_path / file.name), name)


def documents_of(name: str, file: Path) -> list[Any]:
    """Parse a file of one JSON document, or of several, in text or not."""
    if name in ("fio", "github-action-benchmark"):
        return [node.value for node in json_file.load_each(file)]
    text = file.read_text()
    lines = text.splitlines() if file.suffix == ".jsonl" else [text]
    documents = []
    for line in lines:
        rest = line
        while rest.strip():
            value, end = json.JSONDecoder().raw_decode(rest.lstrip())
            rest = rest.lstrip()[end:]
            documents.append(value)
    return documents


def written(documents: list[Any], file: Path) -> Path:
    """Write JSON documents; surrogates are escaped, as the tools escape them."""
    file.write_text("\n".join(json.dumps(document) for document in documents) or "{}")
    return file


def first_places(value: Any) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return the path to the first value of each key, elements of a list alike."""
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    rest: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [(value, (), ())]
    while rest:
        value, key, path = rest.pop()
        found.setdefault(key, path)
        if isinstance(value, dict):
            rest += [(v, (*key, k), (*path, k)) for k, v in value.items()]
        elif isinstance(value, list):
            rest += [(v, (*key, 0), (*path, i)) for i, v in reversed([*enumerate(value)])]
    return found


@pytest.mark.parametrize("new", [math.inf, "text"])
@pytest.mark.parametrize(("name", "file"), [f for f in JSON_FILES if f.id in SMALL])
def test_a_changed_value_of_any_key_never_breaks_the_reader(
    tmp_path: Path, name: str, file: Path, new: object
) -> None:
    """Changes that are drawn miss most keys."""
    documents = documents_of(name, file)
    for path in first_places(documents).values():
        broken = written(changed(documents, path, new) if path else [new], tmp_path / file.name)
        with contextlib.suppress(InputError):
            sound(readers.read(broken, ColumnOptions(), name))


@pytest.mark.parametrize(("name", "file"), FILES)
@given(data=st.data())
@FEW
def test_changed_bytes_never_break_the_reader(
    tmp_path: Path, name: str, file: Path, data: st.DataObject
) -> None:
    read_with_changed_bytes(tmp_path, name, file, data)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file"), FILES)
@given(data=st.data())
@MANY
def test_many_changed_bytes_never_break_the_reader(
    tmp_path: Path, name: str, file: Path, data: st.DataObject
) -> None:
    read_with_changed_bytes(tmp_path, name, file, data)


def read_with_changed_bytes(tmp_path: Path, name: str, file: Path, data: st.DataObject) -> None:
    """Replace up to three runs of bytes of a file, or cut it off, and read it."""
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        length = data.draw(st.integers(0, 20))
        raw[at : at + length] = data.draw(st.binary(max_size=8))
    if data.draw(st.booleans()):
        del raw[data.draw(st.integers(0, len(raw))) :]
    broken = tmp_path / file.name
    broken.write_bytes(raw or b" ")
    read_or_refuse(broken, name)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"{}",
        b"[]",
        b"null",
        b"0",
        b'"text"',
        b"[[]]",
        b"[{}]",
        b"{" * 10_000,
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b'{"results": ' + b"9" * 10_000 + b"}",
        b'{"benchmarks": [1e999, -1e999, NaN]}',
        b"\xff\xfe\x00",
        b"\x1f\x8b\x08\x00garbage",
        b"\x00" * 5000,
        b"Benchmark" * 1000,
        "{}".encode("utf-32"),
    ],
    ids=range(19),
)
def test_what_is_no_result_of_any_tool_is_refused(
    tmp_path: Path, name: str, content: bytes
) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(content)
    with pytest.raises(InputError) as told:
        readers.read(file, format=name)
    assert "results.json" in told.value.message


def test_a_folder_and_a_missing_file_are_told(tmp_path: Path) -> None:
    for file in (tmp_path, tmp_path / "missing.json"):
        for name in (None, *FORMATS):
            with pytest.raises(InputError, match=file.name):
                readers.read(file, format=name)


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    file = tmp_path / "u\udcff.json"
    try:
        file.write_text("{}")
    except OSError:
        pytest.skip("this file system has no such names")
    with pytest.raises(InputError, match="its name is not UTF-8"):
        readers.read(file)


#: What may be read only once, or for ever, or by waiting for somebody.
@pytest.mark.timeout(60)
@pytest.mark.parametrize("given", ["pipe", "/dev/zero", "/dev/null", "/dev/fd/{}"])
@pytest.mark.parametrize("format", [None, *units_of("format")])
def test_what_is_no_file_is_refused_before_it_is_opened(
    given: str, format: str | None, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading, writing = os.pipe()
    try:
        with pytest.raises(InputError, match="no regular file") as told:
            readers.read(tmp_path / given.format(reading), ColumnOptions(), format)
        assert told.value.hint
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.timeout(60)
def test_a_pipe_is_no_file_of_ratings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no regular file"):
        agreements(tmp_path / "pipe", tmp_path / "pipe", 0.95)


def test_comparisons_of_nothing_are_refused(tmp_path: Path) -> None:
    document = json.loads((DATA / "tare_json" / "compare.json").read_text())
    broken = tmp_path / "compare.json"
    broken.write_text(json.dumps(document | {"comparisons": []}))
    with pytest.raises(InputError, match="nothing was compared"):
        readers.read(broken, ColumnOptions(), "tare-json")
