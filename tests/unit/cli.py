"""tare's command line as a process of its own, without loading its libraries each time.

That takes longer than most commands. A server loads everything and waits; each command is a fork
of it, with the caller's words, streams, folder and environment. Who kills a command, or gives it a
terminal or another user, starts `TARE`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

TARE = [sys.executable, "-c", "from tare.wiring import main; main()"]
_SERVER = "import cli; cli.serve({link})"
_ARGV = """
import importlib
for name, value in {constants!r}.items():
    module, _, constant = name.rpartition(".")
    setattr(importlib.import_module(module), constant, value)
from tare.wiring import main
main()
"""
#: For `run`: gives a cell up at its first failure. A session tries such a cell three or six times.
FAIL_ONCE = {
    f"tare.experiment.session.session_state.{name}": 1 for name in ("TRIES", "TRIES_IN_A_ROW")
}
#: Loaded inside of functions, and expensive.
_LIBRARIES = (
    "altair", "docker", "duckdb", "pandas", "pyarrow.parquet", "scipy.stats", "vl_convert",
    "statsmodels.stats.diagnostic", "statsmodels.tsa.stattools", "typer._adapters",
)  # fmt: skip
_MOST_BYTES = 1 << 20


def run(
    *words: str,
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    input: str | None = None,
    stdin: int | IO[Any] | None = None,
    timeout: float = 240,
    constants: Mapping[str, object] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``tare WORDS`` to its end; what it writes is taken apart as `subprocess.run` does.

    ``constants`` gives other values to constants of modules, for this command alone:
    ``{"tare.experiment.session.session_state.TRIES": 1}``.
    """
    asked = {
        "words": words, "cwd": str(cwd or Path.cwd()), "env": env or dict(os.environ),
        "constants": dict(constants or {}),
    }  # fmt: skip
    with contextlib.ExitStack() as files:
        out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        if input is not None:
            stdin = files.enter_context(tempfile.TemporaryFile())
            stdin.write(input.encode())
            stdin.seek(0)
        elif stdin is None or stdin == subprocess.DEVNULL:
            stdin = files.enter_context(Path(os.devnull).open("rb"))
        code = _forked(asked, [stdin, out, err], timeout)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(["tare", *words], code, *said)


def argv(constants: Mapping[str, object]) -> list[str]:
    """Return `TARE` with other values of constants, as `run` takes them."""
    return [sys.executable, "-c", _ARGV.format(constants=dict(constants))]


def _forked(asked: dict[str, Any], streams: list[IO[Any]], timeout: float) -> int:
    link = _server()
    link.settimeout(None)
    socket.send_fds(link, [json.dumps(asked).encode()], [stream.fileno() for stream in streams])
    pid = int(link.recv(64))
    link.settimeout(timeout)
    try:
        return os.waitstatus_to_exitcode(int(link.recv(64)))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        link.settimeout(None)
        link.recv(64)
        raise subprocess.TimeoutExpired(asked["words"], timeout) from None


@functools.cache
def _server() -> socket.socket:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER.format(link=there.fileno())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=[there.fileno()], stdin=subprocess.DEVNULL,
    )  # fmt: skip
    there.close()
    atexit.register(process.wait)
    atexit.register(here.close)
    return here


def serve(descriptor: int) -> None:
    """Carry out commands, one after another, until nobody asks any more."""
    link = socket.socket(fileno=descriptor)
    import tare

    for name in _LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(tare.__path__, "tare."):
        importlib.import_module(module.name)
    _prepare()
    while True:
        asked, streams, _, _ = socket.recv_fds(link, _MOST_BYTES, len(("in", "out", "error")))
        if not asked:
            return
        pid = os.fork()
        if pid == 0:
            link.close()
            _carry_out(json.loads(asked), streams)
        for stream in streams:
            os.close(stream)
        link.send(str(pid).encode())
        link.send(str(os.waitpid(pid, 0)[1]).encode())


def _prepare() -> None:
    """Build the parser of the command line and compile the templates once for all commands."""
    import typer.main

    from tare import wiring
    from tare.render import words

    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(wiring.command_line())
    for name in words.templates():
        words._template(name)
    # A child then does not copy the pages of all these objects when it collects garbage.
    gc.freeze()


def _carry_out(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    """End as Python does, but for what is loaded: to take that apart is as slow as to load it."""
    from tare.wiring import main

    code: object = 1
    try:
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        sys.argv = ["tare", *asked["words"]]
        for name, value in asked["constants"].items():
            module, _, constant = name.rpartition(".")
            assert hasattr(sys.modules[module], constant)
            setattr(sys.modules[module], constant, value)
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
