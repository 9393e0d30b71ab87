"""An sshd of the tests' own, with its own keys, and a configuration for ssh."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

#: Names of the one host, by what is peculiar to it.
HOSTS = {
    "here": "IdentityFile {folder}/user\n  UserKnownHostsFile {folder}/known",
    "foreign": "IdentityFile {folder}/foreign\n  UserKnownHostsFile {folder}/known",
    "unknown": "IdentityFile {folder}/user\n  UserKnownHostsFile /dev/null",
    "stranger": "IdentityFile {folder}/stranger\n  UserKnownHostsFile {folder}/known",
}


@dataclass
class Server:
    """A running sshd."""

    process: subprocess.Popen[bytes]
    folder: Path
    address: str
    port: int

    @property
    def config(self) -> str:
        """For ``ssh -F``."""
        return str(self.folder / "config")

    def sessions(self) -> list[int]:
        """Return the pids of its connections."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in task.read_text().split()]

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to all connections."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


@contextlib.contextmanager
def running(
    folder: Path,
    address: str = "127.0.0.1",
    enter: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Yield an sshd, on the loopback or in a namespace; skip the test where there can be none."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if sshd is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no sshd here (openssh-server)")
    for name in ("host", "user", "foreign", "stranger"):
        subprocess.run(["ssh-keygen", "-qt", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    _configure(folder, address, port, environment or {})
    log = folder / "log"
    process = subprocess.Popen(
        [*enter, sshd, "-D", "-f", str(folder / "sshd_config"), "-E", str(log)],
        stderr=subprocess.DEVNULL,
    )
    server = Server(process, folder, address, port)
    try:
        _wait_for(log, process)
        yield server
    finally:
        server.tell(signal.SIGKILL)
        process.terminate()
        process.wait(timeout=10)


def _configure(folder: Path, address: str, port: int, environment: Mapping[str, str]) -> None:
    if os.geteuid() == 0:
        # Where Debian's sshd, as root, wants an empty directory.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    fake = folder / "fake"
    fake.mkdir()
    (fake / "uname").write_text("#!/bin/sh\ntest $1 = -m && echo s390x || /bin/uname $1\n")
    (fake / "uname").chmod(0o755)
    keys = {name: (folder / f"{name}.pub").read_text() for name in ("user", "foreign", "host")}
    elsewhere = f'environment="PATH={fake}:/usr/bin:/bin"'
    (folder / "authorized").write_text(f"{keys['user']}{elsewhere} {keys['foreign']}")
    (folder / "known").write_text(f"[{address}]:{port} {keys['host']}")
    settings = {
        "Port": port,
        "ListenAddress": address,
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PermitUserEnvironment": "yes",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "PermitRootLogin": "yes",
    }
    if environment:
        settings["SetEnv"] = " ".join(f'"{name}={value}"' for name, value in environment.items())
    text = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "sshd_config").write_text(text)
    about = f"HostName {address}\n  Port {port}\n  IdentitiesOnly yes\n  LogLevel FATAL"
    (folder / "config").write_text(
        "".join(
            f"Host {name}\n  {about}\n  {own.format(folder=folder)}\n"
            for name, own in HOSTS.items()
        )
    )


def _wait_for(log: Path, server: subprocess.Popen[bytes]) -> None:
    while not (log.exists() and "Server listening" in log.read_text()):
        if server.poll() is not None:
            pytest.skip("sshd does not run here")
        time.sleep(0.02)
