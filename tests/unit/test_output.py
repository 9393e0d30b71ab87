"""What is printed: no name gives orders to a terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.text import Text

from tare import wiring
from tare.cli import console as output
from tare.cli import progress
from tare.errors import InputError, StoreError
from tare.render.escaping import harmless

HOSTILE = "a\x1b[2Jbc\x9bd\u202ee\udcfff"
SHOWN = "a\\x1b[2Jbc\\x9bd\\u202ee\\udcfff"


@pytest.mark.parametrize("said", [HOSTILE, Text(HOSTILE)])
@pytest.mark.parametrize("colours", [False, True])
def test_what_is_printed_gives_a_terminal_no_orders(said: str | Text, colours: bool) -> None:
    file = StringIO()
    console = type(output.out)(file=file, force_terminal=colours, highlight=False, markup=False)
    console.print(said, soft_wrap=True)
    assert file.getvalue() == f"{SHOWN}\n"


def test_colours_are_our_own() -> None:
    file = StringIO()
    console = type(output.out)(file=file, force_terminal=True, color_system="standard")
    console.print(Text("b", style="red"))
    assert file.getvalue() == "\x1b[31mb\x1b[0m\n"


def test_lines_and_tabs_stay() -> None:
    assert harmless("one\n\ttwo · 5 µs “three”") == "one\n\ttwo · 5 µs “three”"


def test_complaints_give_a_terminal_no_orders(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complain(*_: object) -> int:
        raise InputError(HOSTILE, HOSTILE)

    monkeypatch.setattr("tare.cli.app.run", complain)
    assert wiring.enter() == InputError.exit_code
    assert capsys.readouterr().err == f"tare: {SHOWN}\n  hint: {SHOWN}\n"


def test_a_bar_takes_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    file = StringIO()
    console = type(output.err)(file=file, force_terminal=True, width=80)
    monkeypatch.setattr(progress, "err", console)
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    with progress.Bar() as bar:
        bar.stage("a [/x] [red]b")
    assert "a [/x] [red]b" in file.getvalue()


def test_what_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    output.check_writable(None, "-", tmp_path / "new.json")
    with pytest.raises(StoreError, match="there is no folder"):
        output.check_writable(tmp_path / "nowhere" / "new.json")
    with pytest.raises(StoreError, match="cannot write"):
        output.check_writable(tmp_path)
