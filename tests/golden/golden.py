#!/usr/bin/env python3
"""Replay commands and compare their output: `golden.py check|bless|record|write [NAME…]`.

`check` replays each command and prints where its output differs from `expected/`. `bless` stores
the output as expected, to be reviewed in the diff. `write` stores the whole output in
`golden-output/` of the current folder, without what `expected/` leaves out: with one before a
change and one after it, `diff -r` shows which omitted row differs. `record` runs the command on
this machine, with real agents, and writes its tape (as root, on a quiet machine).
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import document
from commands import COMMANDS, Command

HERE = Path(__file__).parent
TAPES, EXPECTED, INPUTS = HERE / "tapes", HERE / "expected", HERE / "inputs"
#: Files that are derived from the others, or too large to read.
_LEFT_OUT = {"failed.json"}
#: Texts that differ between runs of the same program.
_VARYING = ((re.compile(r"tare-[0-9a-f]{6}"), "tare-SESSION"),)
_SCREEN = re.compile(
    r"\A[^\n]*\n(.*)--- standard error ---\n(.*)--- exit code (\d+) ---\n\Z", re.DOTALL
)
#: The commands that a screen suggests, with the lines that continue them.
_NEXT = re.compile(r"^Next:? +(.*(?:\n +.*)*)", re.MULTILINE)


class Stage:
    """A process that replays commands; a context manager."""

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
        """Replay a command, and return its outputs by file name; "screen" is what it printed."""
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
            archive.extractall(work)
    else:
        shutil.copy(source, work / source.name)


def _text(path: Path) -> str:
    return path.read_text() if _is_text(path) else f"{path.stat().st_size} bytes\n"


def _is_text(path: Path) -> bool:
    return path.suffix in (".html", ".json", ".ndjson", ".csv", ".md", ".xml", ".toml", ".txt")


def _plain(text: str, folder: str) -> str:
    text = text.replace(folder, "FOLDER")
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def compared(command: Command, outputs: dict[str, str]) -> dict[str, str]:
    """Return the texts that are compared, by file: of JSON and CSV, a shortened document."""
    return {name: _comparable(name, outputs) for name in command.compared if name in outputs}


def _comparable(name: str, outputs: dict[str, str]) -> str:
    text = outputs[name]
    if name.endswith(".html"):
        return document.page_text(text)
    if not name.endswith((".json", ".csv")):
        return text
    value: Any = json.loads(text) if name.endswith(".json") else document.csv_rows(text)
    screen = _SCREEN.match(outputs["screen"])
    assert screen
    shown, errors, code = screen.groups()
    return (
        document.written(
            {
                "command": outputs["screen"].partition("\n")[0],
                "exit": int(code),
                "next": [line.strip() for n in _NEXT.findall(shown) for line in n.split("\n")],
                "errors": errors.splitlines(),
                "document": document.shortened(value),
            }
        )
        + "\n"
    )


def expected(command: Command) -> dict[str, str]:
    """Return the expected texts of a command, by file."""
    folder = EXPECTED / command.name
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def bless(command: Command, outputs: dict[str, str]) -> None:
    """Store the outputs of a command as expected."""
    if "--- exit code 70 ---" in outputs["screen"]:
        raise SystemExit(f"{command.name} failed unexpectedly:\n{outputs['screen']}")
    folder = EXPECTED / command.name
    shutil.rmtree(folder, ignore_errors=True)
    _store(folder, compared(command, outputs))


def _store(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def differences(command: Command, found: dict[str, str]) -> str:
    """Return a diff of the expected texts and of those that :func:`compared` returned."""
    wanted = expected(command)
    lines: list[str] = []
    for name in sorted({*wanted, *found, *command.compared}):
        if name not in wanted or name not in found:
            lines.append(f"{command.name}/{name}: {'missing' if name in wanted else 'unexpected'}")
        lines += difflib.unified_diff(
            *_settled(name, wanted.get(name, ""), found.get(name, "")),
            f"expected/{command.name}/{name}", f"found/{command.name}/{name}", lineterm="", n=1,
        )  # fmt: skip
    return "\n".join(lines)


def _settled(name: str, before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines of both texts, alike where only rounding differs."""
    if before == after:
        return [], []
    if before and after and name.endswith((".json", ".csv")):
        value = document.settled(json.loads(before), json.loads(after))
        return before.splitlines(), document.written(value).splitlines()
    old, new = before.splitlines(), after.splitlines()
    if len(old) == len(new):
        new = [document.settled_text(x, y) for x, y in zip(old, new, strict=True)]
    return old, new


def _readable(outputs: dict[str, str]) -> dict[str, str]:
    return {
        name: json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
        if name.endswith(".json")
        else text
        for name, text in outputs.items()
    }


def main() -> int:
    """Run a mode on all commands, or on the named ones."""
    mode, *names = sys.argv[1:]
    bad = 0
    with Stage() as stage:
        for command in (c for c in COMMANDS if not names or c.name in names):
            if mode == "record":
                print(stage.play(command, record=True)["screen"], flush=True)
                continue
            outputs = stage.play(command)
            if mode == "bless":
                bless(command, outputs)
            elif mode == "write":
                _store(Path("golden-output", command.name), _readable(outputs))
            elif found := differences(command, compared(command, outputs)):
                bad += 1
                print(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
