#!/usr/bin/env python3
"""Forty commands on a stage: `golden.py check | bless | record  [NAME…]`.

`check` plays each and says where what it writes differs from `expected/`; `bless` takes what it
writes as expected, to be read in the diff; `record` plays it on this machine, with real agents,
and writes its tape (as root, on a quiet machine; tapes are recorded once).
"""

from __future__ import annotations

import difflib
import html.parser
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from commands import COMMANDS, Command

HERE = Path(__file__).parent
TAPES, EXPECTED, INPUTS = HERE / "tapes", HERE / "expected", HERE / "inputs"
#: Of what a folder is left with, what is derived from the rest, or too large to be read.
_LEFT_OUT = {"store.duckdb", "failed.json"}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
#: What no command is about: names of sessions, where the package lies.
_INCIDENTAL = ((re.compile(r"tare-[0-9a-f]{6}"), "tare-SESSION"),)


class _Visible(html.parser.HTMLParser):
    """The text of a page, a line for each piece of it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style", "svg")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self._silent and data.strip():
            self.lines.append(" ".join(data.split()))


class Stage:
    """A process that plays commands; a context manager."""

    def __enter__(self) -> Stage:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "play.py")], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(self, *why: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def play(self, command: Command, *, record: bool = False) -> dict[str, str]:
        """Play a command, and return what it wrote: by file; its screen is one of them."""
        with tempfile.TemporaryDirectory(prefix="tare-golden-") as folder:
            work, screen = Path(folder, "work"), [f"{folder}/out", f"{folder}/err"]
            work.mkdir()
            for name in command.inputs:
                _lay_down(name, work)
            given = {path.relative_to(work): path.stat().st_mtime_ns for path in _files(work)}
            code = self._order(
                mode="record" if record else "replay", tape=str(_tape(command)),
                folder=str(work), screen=screen, arguments=shlex.split(command.arguments),
            )  # fmt: skip
            out, err = (Path(name).read_text() for name in screen)
            written = {
                "screen": f"$ tare {command.arguments}\n{out}--- standard error ---\n{err}"
                f"--- exit code {code} ---\n"
            }
            for path in _files(work):
                name = path.relative_to(work)
                if given.get(name) != path.stat().st_mtime_ns and path.name not in _LEFT_OUT:
                    written[str(name)] = _text(path)
        return {name: _plain(text, folder) for name, text in written.items()}

    def _order(self, **order: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _tape(command: Command) -> Path:
    return TAPES / f"{command.name}.xz"


def _lay_down(name: str, work: Path) -> None:
    source = INPUTS / name if (INPUTS / name).exists() else HERE.parent / "data" / name
    if source.name.endswith(".tar.xz"):
        with tarfile.open(source) as archive:
            archive.extractall(work, filter="data")
    else:
        shutil.copy(source, work / source.name)


def _text(path: Path) -> str:
    """Return a file as what can be read and compared line by line."""
    match path.suffix:
        case ".html":
            page = _Visible()
            page.feed(path.read_text())
            return "\n".join(page.lines) + "\n"
        case ".json":
            return json.dumps(json.loads(path.read_text()), indent=1, ensure_ascii=False) + "\n"
        case ".ndjson" | ".csv" | ".md" | ".xml" | ".toml" | ".txt":
            return path.read_text()
    return f"{path.stat().st_size} bytes\n"


def _plain(text: str, folder: str) -> str:
    text = text.replace(folder, "FOLDER")
    for pattern, word in _INCIDENTAL:
        text = pattern.sub(word, text)
    return text


def expected(command: Command) -> dict[str, str]:
    """Return what a command is expected to write."""
    folder = EXPECTED / command.name
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def bless(command: Command, written: dict[str, str]) -> None:
    """Take what a command writes as expected."""
    if "--- exit code 70 ---" in written["screen"]:
        raise SystemExit(f"{command.name} ended by a fault:\n{written['screen']}")
    folder = EXPECTED / command.name
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def differences(command: Command, written: dict[str, str]) -> str:
    """Return how what a command writes differs from what is expected, as a diff."""
    wanted = expected(command)
    lines: list[str] = []
    for name in sorted(wanted.keys() | written.keys()):
        before, after = (some.get(name, "").splitlines() for some in (wanted, written))
        lines += difflib.unified_diff(
            before, _rounded_alike(before, after),
            f"expected/{command.name}/{name}", f"played/{command.name}/{name}", lineterm="", n=1,
        )  # fmt: skip
    return "\n".join(lines)


def _rounded_alike(before: list[str], after: list[str]) -> list[str]:
    """Take for the same what differs by rounding: processors sum in different orders."""
    if before == after:
        return after
    shapes = [[_NUMBER.sub("#", line) for line in lines] for lines in (before, after)]
    blocks = [(0, 0, len(after))]
    if shapes[0] != shapes[1]:
        blocks = difflib.SequenceMatcher(None, *shapes, autojunk=False).get_matching_blocks()
    found = list(after)
    for a, b, size in blocks:
        for i in range(size):
            numbers = [[*map(float, _NUMBER.findall(x))] for x in (before[a + i], after[b + i])]
            if all(
                math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-12)
                for x, y in zip(*numbers, strict=True)
            ):
                found[b + i] = before[a + i]
    return found


def main() -> int:
    """Do what the command line says, for all commands or those that it names."""
    mode, *names = sys.argv[1:]
    bad = 0
    with Stage() as stage:
        for command in (c for c in COMMANDS if not names or c.name in names):
            if mode == "record":
                print(stage.play(command, record=True)["screen"], flush=True)
                continue
            written = stage.play(command)
            if mode == "bless":
                bless(command, written)
            elif found := differences(command, written):
                bad += 1
                print(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
