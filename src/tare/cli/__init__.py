"""The command line: turns words into calls, and errors into messages and exit codes."""

from __future__ import annotations

import sys


def main() -> None:
    """Enter here from the shell."""
    if sys.argv[1:] == ["--version"]:
        # Answered before anything heavy is imported.
        from tare import __version__

        print(f"tare {__version__}")
        return
    from tare.cli.app import enter

    sys.exit(enter())
