"""Commands that an audit proposes lead out of the situation: none is proposed twice in a row."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from inprocess import invoke

from tare.errors import InputError
from tare.readers import recognise
from tare.registry import units_of

DATA = Path(__file__).parents[1] / "data" / "interop"
#: Folders that are results as a whole.
FOLDERS = ("criterion", "tare_folder/true", "tare_network/measured")
#: How often the proposed command is typed.
TIMES = 5


def results() -> Iterator[Path]:
    yield from (DATA / folder for folder in FOLDERS)
    for file in sorted(DATA.rglob("*")):
        inside = any(DATA / folder in file.parents for folder in FOLDERS)
        if not inside and file.is_file() and file.suffix != ".md":
            yield file


def proposed(words: list[str], patch: pytest.MonkeyPatch) -> list[str] | None:
    """Audit, and return the words of the audit that is proposed next; None: something else is."""
    patch.setattr("sys.argv", ["tare", *words])
    found = invoke(*words)
    lines = [*found.stdout.splitlines(), *found.stderr.splitlines()]
    marked = [line.removeprefix(mark) for line in lines for mark in ("Next ", "  try: ")
              if line.startswith(mark)]  # fmt: skip
    typed = [line.strip().partition("   (")[0] for line in marked]
    return next((shlex.split(line)[1:] for line in typed if line.startswith("tare audit ")), None)


@pytest.mark.parametrize("file", [*results()], ids=lambda file: str(file.relative_to(DATA)))
def test_no_audit_is_proposed_twice(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ["audit", str(file)]
    met = [typed]
    for _ in range(TIMES):
        found = proposed(typed, monkeypatch)
        if found is None:
            return
        assert found not in met, found
        met.append(typed := found)
    pytest.fail(f"goes on: {met}")


def test_results_of_every_format_are_followed() -> None:
    known = set()
    for file in results():
        try:
            known.add(recognise(file))
        except InputError:
            continue
    assert known == set(units_of("format"))
