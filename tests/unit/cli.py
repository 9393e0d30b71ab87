"""tare's command line as a process of its own, without loading its libraries each time.

Loading them takes longer than most commands. A server loads everything and waits; each command is
a fork of it, with the caller's words, streams, folder, environment and mount namespace. A test
that gives a command a terminal, a resource limit or another user starts `TARE` instead.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

import typed

TARE = [sys.executable, "-c", "from tare.__main__ import main; main()"]
_SERVER = "import cli; cli.serve({link}, {address!r})"
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
    "docker", "duckdb", "pandas", "pyarrow.parquet", "scipy.stats", "vl_convert",
)  # fmt: skip
_MAX_BYTES = 1 << 20
_CLONE_NEWNS = 0x00020000
_MOUNT_NAMESPACE = "/proc/self/ns/mnt"
#: Loads what `program` needs and nothing else, which takes 20 ms.
_PROGRAM = """#!{python} -ISE
import array, json, os, socket, sys
link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
link.connect({address!r})
request = {{
    "words": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "constants": {{}}
}}
descriptors = array.array("i", [0, 1, 2, os.open({namespace!r}, os.O_RDONLY)])
ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
link.sendmsg([json.dumps(request).encode()], ancillary)
link.recv(64)
code = os.waitstatus_to_exitcode(int(link.recv(64)))
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class Running:
    """A command that was started, with the methods of `subprocess.Popen` of the same names."""

    def __init__(self, request: dict[str, Any], streams: list[int]) -> None:
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.connect(_address())
        self._words = request["words"]
        with Path(_MOUNT_NAMESPACE).open("rb") as namespace:
            descriptors = [*streams, namespace.fileno()]
            socket.send_fds(self._link, [json.dumps(request).encode()], descriptors)
        self.pid = int(self._link.recv(64))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._link], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self._words, timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(int(self._link.recv(64)))
            self._link.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Captured(Running):
    """A command that was started, whose output goes to temporary files."""

    def __init__(self, request: dict[str, Any], stdin: IO[Any]) -> None:
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        super().__init__(request, [one.fileno() for one in (stdin, self._out, self._err)])

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end of the command, and return its standard output and error."""
        self.wait(timeout)
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read().decode())
            file.close()
        return texts[0], texts[1]


def start(
    *words: str,
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    stdin: IO[Any] | None = None,
    constants: Mapping[str, object] | None = None,
) -> Captured:
    """Start ``tare WORDS``, to be sent signals.

    ``constants`` gives other values to constants of modules, for this command alone:
    ``{"tare.experiment.session.session_state.TRIES": 1}``.
    """
    request = {
        "words": words, "cwd": str(cwd or Path.cwd()), "env": env or dict(os.environ),
        "constants": dict(constants or {}),
    }  # fmt: skip
    with contextlib.ExitStack() as files:
        return Captured(request, stdin or files.enter_context(Path(os.devnull).open("rb")))


def run(
    *words: str,
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    input: str | None = None,
    stdin: int | IO[Any] | None = None,
    timeout: float = 240,
    constants: Mapping[str, object] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``tare WORDS`` to its end, and return what `subprocess.run` would with ``text``."""
    with contextlib.ExitStack() as files:
        if input is not None:
            stdin = files.enter_context(tempfile.TemporaryFile())
            stdin.write(input.encode())
            stdin.seek(0)
        given = None if isinstance(stdin, int) else stdin
        running = start(*words, cwd=cwd, env=env, stdin=given, constants=constants)
        try:
            output = running.communicate(timeout)
            typed.check("\n".join(output))
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            raise
    return subprocess.CompletedProcess(["tare", *words], running.wait(), *output)


def argv(constants: Mapping[str, object]) -> list[str]:
    """Return `TARE` with other values of constants, as `run` takes them."""
    return [sys.executable, "-c", _ARGV.format(constants=dict(constants))]


@functools.cache
def program() -> Path:
    """Write a program ``tare`` for scripts, also in a mount namespace, and return its path.

    A signal ends the program and not the command. Resource limits do not reach the command.
    """
    file = Path(_address()).with_name("tare")
    text = _PROGRAM.format(python=sys.executable, address=_address(), namespace=_MOUNT_NAMESPACE)
    file.write_text(text)
    file.chmod(0o755)
    return file


@functools.cache
def _address() -> str:
    """Start the server of this process, and return the path of its socket."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = tempfile.TemporaryDirectory(prefix="served-")
    address = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER.format(link=there.fileno(), address=address)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=[there.fileno()], stdin=subprocess.DEVNULL,
    )  # fmt: skip
    there.close()
    atexit.register(folder.cleanup)
    atexit.register(process.wait)
    atexit.register(here.close)
    if not here.recv(64):
        raise RuntimeError("the server of commands ended")
    return address


def serve(descriptor: int, address: str) -> NoReturn:
    """Fork a process for each command, until the process that started this one has ended."""
    link = socket.socket(fileno=descriptor)
    import tare

    for name in _LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(tare.__path__, "tare."):
        importlib.import_module(module.name)
    libc = ctypes.CDLL(None, use_errno=True)
    _fill_caches()
    # Without it, garbage collection in a command copies the memory pages of all loaded modules.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(64)
    link.send(b"ready")
    commands: dict[int, tuple[int, socket.socket]] = {}
    while True:
        ready = select.select([link, listener, *commands], [], [])[0]
        if link in ready:
            os._exit(0)
        for descriptor in ready:
            if descriptor is listener:
                client, _ = listener.accept()
                text, descriptors, _, _ = socket.recv_fds(client, _MAX_BYTES, 4)
                pid = os.fork()
                if pid == 0:
                    for one in (link, listener, client, *(held for _, held in commands.values())):
                        one.close()
                    for number in commands:
                        os.close(number)
                    _execute(json.loads(text), descriptors, libc)
                for number in descriptors:
                    os.close(number)
                client.send(str(pid).encode())
                commands[os.pidfd_open(pid)] = (pid, client)
            else:
                pid, client = commands.pop(descriptor)
                os.close(descriptor)
                status = os.waitpid(pid, 0)[1]
                # A client that was killed does not wait for it.
                with contextlib.suppress(BrokenPipeError), client:
                    client.send(str(status).encode())


def _fill_caches() -> None:
    """Report made-up results.

    First calls of pandas, Altair and DuckDB take half a second. Nothing that is cached depends on
    the machine or on the environment.
    """
    import journals
    import synthetic

    from tare import wiring

    with tempfile.TemporaryDirectory() as folder:
        made = synthetic.make(platforms=["bare"], workers=[1], trials=2)
        results = journals.write(made, Path(folder) / "results")
        for command in ("experiment report", f"export --json {folder}/samples.json"):
            sys.argv = ["tare", *command.split(), str(results)]
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                if wiring.enter() != 0:
                    raise RuntimeError(out.getvalue())


def _execute(request: dict[str, Any], descriptors: list[int], libc: ctypes.CDLL) -> NoReturn:
    """Execute a command, and end without destroying loaded modules, which takes long."""
    from tare.wiring import main

    code: object = 1
    try:
        *streams, namespace = descriptors
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # Those of the server may be of another kind: a file where this command has a pipe.
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        own = Path(_MOUNT_NAMESPACE).stat()
        if not os.path.samestat(os.fstat(namespace), own) and libc.setns(namespace, _CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "setns")
        os.close(namespace)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        for name, value in request["constants"].items():
            module, _, constant = name.rpartition(".")
            assert hasattr(sys.modules[module], constant)
            setattr(sys.modules[module], constant, value)
        sys.argv = ["tare", *request["words"]]
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            for output in (sys.stdout, sys.stderr):
                if not output.closed:
                    output.flush()
        except OSError:
            traceback.print_exc()
            code = 120  # as Python does
        os._exit(code if isinstance(code, int) else 1)
