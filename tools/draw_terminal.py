#!/usr/bin/env python3
"""Draw what a command prints on a terminal as docs/images/terminal.svg.

tools/draw_terminal.py "tare compare --name old --name new 'sleep 0.010' 'sleep 0.0105'"
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).resolve().parent.parent / "docs/images/terminal.svg"
#: Moves of the cursor and the like; colours stay.
_MOVES = re.compile(r"\x1b\[[0-9;]*[A-HJKfn]|\x1b\[\?[0-9;]*[a-zA-Z]|\r")


def main() -> None:
    """Execute the command on a terminal of its own, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("--width", type=int, default=88)
    arguments = parser.parse_args()
    console = Console(
        record=True, width=arguments.width, file=io.StringIO(), force_terminal=True,
        color_system="truecolor",
    )  # fmt: skip
    console.print(Text.assemble(("$ ", "bold green"), (arguments.command, "bold")))
    console.print(Text.from_ansi(printed(arguments.command, arguments.width).strip("\n")))
    svg = console.export_svg(title=" ".join(arguments.command.split()[:2]))
    # No picture of ours fetches anything.
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    TARGET.write_text(svg.replace("Fira Code", "DejaVu Sans Mono"))


def printed(command: str, width: int) -> str:
    """Return what a command writes to a terminal, without its progress."""
    written = b""

    def read(terminal: int) -> bytes:
        nonlocal written
        data = os.read(terminal, 65536)
        written += data
        return data

    pty.spawn(["bash", "-c", f"stty cols {width}; {command} 2>/dev/null"], read)
    return _MOVES.sub("", written.decode().replace("\r\n", "\n"))


if __name__ == "__main__":
    main()
