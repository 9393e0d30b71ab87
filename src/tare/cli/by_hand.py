"""Stopping by hand: Enter, like Ctrl-C, ends a measurement with what there is."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator


def is_at_terminal() -> bool:
    """Tell whether somebody may press Enter."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextlib.contextmanager
def enter_interrupts() -> Iterator[None]:
    """Take Enter on this terminal for Ctrl-C."""
    if not is_at_terminal():
        yield
        return
    over, end = os.pipe()
    terminal = sys.stdin.fileno()

    def wait() -> None:
        while over not in (ready := select.select([terminal, over], [], [])[0]):
            # In the background, who reads from the terminal is stopped.
            if terminal in ready and os.tcgetpgrp(terminal) == os.getpgrp():
                os.read(terminal, 4096)
                if sys.stderr.isatty():
                    # Back to the line that the terminal has just left.
                    os.write(2, b"\x1b[A")
                signal.pthread_kill(main, signal.SIGINT)
                return

    main = threading.get_ident()
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    try:
        yield
    finally:
        os.close(end)
        waiting.join()
        os.close(over)
