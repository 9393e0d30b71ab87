"""How long until the first value is shown, and until the whole answer is there, beside hyperfine?

Commands are typed at a terminal of their own (a pty), in turn with hyperfine, if it is there. Told
is when the first line with a value came, when the process had ended, and both less what the
command itself takes: what a person waits for tare.

    .venv/bin/python benchmarks/start.py [--rounds 5] [--image NAME]
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import shlex
import shutil
import statistics
import sys
import time
from pathlib import Path

TARE = str(Path(sys.executable).with_name("tare"))
#: What stands where a value does: its n, or hyperfine's word for it.
VALUE = re.compile(rb"n = [0-9]+|Current estimate: [0-9.]+")


def typed(argv: list[str]) -> tuple[float | None, float, int]:
    """Type a command; return seconds to its first value and to its end, and its exit code."""
    began = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm", "COLUMNS": "120"}
        os.execvp(argv[0], argv)
    first, said = None, b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        said = (said + chunk)[-65536:]
        if first is None and VALUE.search(said):
            first = time.monotonic() - began
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return first, time.monotonic() - began, code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--image", help="also in a container of docker, of this image")
    options = parser.parse_args()
    second = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
    commands = {"true": ["true"], "sleep 0.1": ["sleep", "0.1"], "a loop": ["sh", "-c", second]}
    peers = {f"tare, {name}": [TARE, "run", "--", *argv] for name, argv in commands.items()}
    if options.image:
        docker = [TARE, "run", "-p", "docker", "--image", options.image, "--", "true"]
        peers["tare, true in docker"] = docker
    if shutil.which("hyperfine"):
        for name, argv in commands.items():
            peers[f"hyperfine, {name}"] = ["hyperfine", "-N", shlex.join(argv)]
    waits: dict[str, list[tuple[float | None, float]]] = {name: [] for name in peers}
    for _ in range(options.rounds):
        for name, argv in peers.items():
            first, whole, code = typed(argv)
            if code:
                sys.exit(f"{name} ended with exit code {code}")
            waits[name].append((first, whole))
    for name, times in waits.items():
        shown = sorted(first for first, _ in times if first is not None)
        wholes = sorted(whole for _, whole in times)
        told = f"{statistics.median(shown):5.2f} s (≤ {shown[-1]:.2f})" if shown else "never"
        print(f"{name:<24} first value {told:<20} whole {statistics.median(wholes):6.2f} s "
              f"(≤ {wholes[-1]:.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
