"""The command line: turns words into calls, and errors into messages and exit codes."""

from __future__ import annotations

import signal
import sys
from types import FrameType


def main() -> None:
    """Enter here from the shell."""
    if sys.argv[1:] == ["--version"]:
        # Answered before anything heavy is imported.
        from tare import __version__

        print(f"tare {__version__}")
        return
    # A CI that cancels, or a terminal that goes, is to find nothing left behind either; what
    # nohup had ignored stays so.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, _interrupt)
    try:
        from tare.cli.app import enter
    except KeyboardInterrupt:
        # Loading takes a second, and nothing has begun.
        print("tare: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(enter())


def _interrupt(signum: int, frame: FrameType | None) -> None:
    from tare.errors import TerminatedError

    raise TerminatedError
