"""The command line: turns words into calls, and errors into messages and exit codes."""

from __future__ import annotations

import sys

from tare.cli import terminated


def main() -> None:
    """Enter here from the shell."""
    if sys.argv[1:] == ["--version"]:
        # Answered before anything heavy is imported.
        from tare import __version__

        print(f"tare {__version__}")
        return
    terminated.listen()
    try:
        from tare.cli.app import enter
    except KeyboardInterrupt:
        # Loading takes a second, and nothing has begun.
        print("tare: interrupted", file=sys.stderr)
        sys.exit(terminated.exit_code())
    sys.exit(enter())
