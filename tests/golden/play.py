"""Replays commands as requested, one JSON line each on standard input.

A request has ``mode`` (record or replay), ``tape``, ``folder``, ``arguments``, and ``screen``: the
files for standard output and standard error, as printed to a terminal of 80 columns. The answer is
a line with the exit code. All modules are imported once; each command runs in a fork of this
process, in its folder, which is its home directory as well.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path
from typing import Any

_ENVIRONMENT = {
    "TERM": "dumb", "NO_COLOR": "1", "TZ": "UTC", "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "DOCKER_HOST": "unix:///nonexistent",
}  # fmt: skip


def main() -> None:
    """Prepare the stage once, and play on it what is ordered."""
    os.environ.clear()
    os.environ |= _ENVIRONMENT
    sys.path.insert(0, str(Path(__file__).parent))
    import stage

    stage.set_up()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _play(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _play(order: dict[str, Any]) -> None:
    import stage
    from tape import Tape

    folder = order["folder"]
    os.environ |= {"HOME": folder, "XDG_STATE_HOME": folder, "XDG_CACHE_HOME": folder}
    os.chdir(folder)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, name in enumerate(order["screen"], 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    faulthandler.enable()
    tape = Tape(Path(order["tape"]), recording=order["mode"] == "record")
    stage.put_on(tape)

    # What the stage has put on is to be in place before.
    from tare import wiring

    sys.argv = ["tare", *order["arguments"]]
    code = 70
    try:
        code = wiring.enter()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        if tape.recording:
            tape.save()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
