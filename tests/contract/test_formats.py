"""What holds for every format that the registry finds, on files that the tools wrote.

A new format needs its folder in ``tests/data/interop``, and is tested here.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from imported import DATA, sound

from tare import readers
from tare.errors import InputError
from tare.readers import ColumnOptions, Format
from tare.registry import units_of

FORMATS: dict[str, Format] = units_of("format")
#: Every file and folder of another tool, with the format whose folder it is in.
WRITTEN = [
    pytest.param(name, path, id=str(path.relative_to(DATA)))
    for name in FORMATS
    for path in sorted((DATA / name.replace("-", "_")).rglob("*"))
    if path.name != "README.md"
]


def takers(path: Path) -> list[str]:
    head = b"" if path.is_dir() else readers._head(path)
    return [name for name, unit in FORMATS.items() if unit.recognises(head, path)]


def folder(name: str) -> Path:
    return DATA / name.replace("-", "_")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_files_that_its_tool_wrote_and_reads_them(name: str, tmp_path: Path) -> None:
    assert (folder(name) / "README.md").is_file(), "says where its files are from"
    found = []
    # A copy: who reads a folder may leave a file in it.
    for path in shutil.copytree(folder(name), tmp_path / "files").rglob("*"):
        if takers(path) == [name]:
            # What a run that failed left holds no results, and a table may have several columns.
            with contextlib.suppress(InputError):
                found.append(readers.read(path, ColumnOptions()))
    assert found
    for read in found:
        assert read.format == name
        sound(read)


def test_no_files_are_of_a_format_that_does_not_exist() -> None:
    assert {path.name for path in DATA.iterdir()} == {name.replace("-", "_") for name in FORMATS}


@pytest.mark.parametrize(("name", "path"), WRITTEN)
def test_what_a_tool_wrote_is_recognised_by_its_format_alone(name: str, path: Path) -> None:
    if takers(path) == [name]:
        return
    assert takers(path) == []
    # It is a part of what its format reads as a folder, or the folder of several files.
    within = [one for one in path.parents if one.is_relative_to(folder(name))]
    assert path.is_dir() or any(takers(one) == [name] for one in within)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_refuses_what_no_tool_wrote(name: str, tmp_path: Path) -> None:
    file = tmp_path / "results"
    file.write_text('{"no": "tool"}')
    assert not FORMATS[name].recognises(readers._head(file), file)
    assert not FORMATS[name].recognises(b"", tmp_path)
