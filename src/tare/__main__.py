"""The entry from the shell: what must hold before anything that takes time is imported."""

from __future__ import annotations

import gc
import os
import signal
import sys

#: Allocations between two garbage collections; Python's default is 700.
_ALLOCATIONS = 50_000


def main() -> None:
    """Run a command."""
    # Modules are loaded once and stay: collections while they load only take time.
    gc.set_threshold(_ALLOCATIONS, 10, 10)
    _open_standard_streams()
    _keep_to_absolute_paths()
    # An ignored SIGCHLD is inherited, and the kernel then discards the exit codes of children.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.argv[1:] == ["--version"]:
        from tare.version import __version__

        print(f"tare {__version__}")
        return
    from tare.host import secrecy

    # Keys of a fleet, and results, are not for the programs that it measures.
    secrecy.keep()
    # Ctrl-C ends the process without a word, until there is something to end in order.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tare import wiring

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    wiring.main()


def _keep_to_absolute_paths() -> None:
    """As root, look for no program in the current folder, whose files may be somebody else's."""
    if os.geteuid() == 0:
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        kept = [folder for folder in folders if folder.startswith("/")]
        os.environ["PATH"] = os.pathsep.join(kept) or "/usr/bin:/bin"


def _open_standard_streams() -> None:
    """Open /dev/null in place of each closed one: the next file would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            mode = "r" if number == 0 else "w"
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


if __name__ == "__main__":
    main()
