"""One connection by ssh: how it is asked for, what is said over it before the agent speaks."""

from __future__ import annotations

import os
import re
import select
import shlex
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tare.agent import client
from tare.agent.client import ProcessChannel, SilenceError
from tare.errors import AgentError, PlatformError, Typed, filled
from tare.registry import words

#: For each step of the beginning; with a copy of some MB over a slow line among them.
STEP_S = 60.0
#: Lines that a login may say before the script does.
NOISE = 1000
#: Sent at once.
CHUNK = 1 << 16

#: A host that drops off is noticed after three of these; nothing is asked, since nobody answers.
#: A connection that is shared with others would outlive this one, and the agent with it. What
#: `vagrant ssh-config` prints keeps ssh from saying why it failed.
SETTINGS = (
    "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=4", "ServerAliveCountMax=3",
    "ControlMaster=no", "ControlPath=none", "LogLevel=INFO", "RequestTTY=no", "RemoteCommand=none",
    "PermitLocalCommand=no", "ForwardAgent=no", "ForwardX11=no",
)  # fmt: skip

#: Words of ssh or of the script, and what to do about them.
MENDS = (
    (
        "IDENTIFICATION HAS CHANGED",
        Typed("ssh-keygen -R {host}   (if you know why its key is another)"),
    ),
    ("Host key verification failed", Typed("ssh {host} true   (once, to accept its key)")),
    ("Permission denied (", Typed("ssh-copy-id {host}   (until `ssh {host} true` asks nothing)")),
    ("Too many authentication failures", "name the key in ~/.ssh/config: IdentityFile"),
    (
        "Could not resolve hostname",
        "spell {host} as ~/.ssh/config does, or give it its address there: HostName",
    ),
    (
        "Can't open user config file",
        "write one with vagrant ssh-config, and name it: [platforms.ssh] config",
    ),
    ("Connection refused", "start sshd or the machine there, until `ssh {host} true` works"),
    ("Connection timed out", "start the machine, until `ssh {host} true` works"),
    ("No route to host", "start the machine, until `ssh {host} true` works"),
    ("No space left on device", '[platforms.ssh] folder = "DIR"   (one with room on {host})'),
    ("tare: the agent cannot be", '[platforms.ssh] folder = "DIR"   (not mounted noexec)'),
    ("tare: the directory", '[platforms.ssh] folder = "DIR"   (one that can be written on {host})'),
)

#: What runs on the host around the agent. Directories that a dead session left (its host lost
#: power, or its shell was killed) are those that no process runs from. A handler of a signal, other
#: than its absence, is not inherited by the workload.
SCRIPT = r"""
name=$1 folder=$2 size=$3 digest=$4 needs=$5
shift 5
fail() { echo "tare: $*" >&2; exit 3; }
echo
echo "$name host $(uname -s) $(uname -m) $(uname -r) $(uname -n)"
read -r go || exit
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for need in $needs; do command -v "$need" >/dev/null || fail "there is no $need"; done
mask=$(umask)
umask 077
cd "$folder" || fail "the directory $folder is not to be had"
for old in tare-??????-[0-9]*; do
  test -e "$old/tare-agent" || continue
  ls -l /proc/[0-9]*/exe /proc/[0-9]*/cwd 2>/dev/null | grep -qF -- "-> $(pwd -P)/$old" ||
    rm -rf "$old"
done
mkdir "$name" && cd "$name" && mkdir -m 777 shared || fail "the directory $folder is not writable"
here=$(pwd -P)
trap 'cd /; rm -rf "$here"' EXIT
trap 'exit 1' HUP INT TERM
echo "$name send"
head -c "$size" >tare-agent || exit
echo "$digest  tare-agent" | sha256sum -c - >/dev/null 2>&1 || fail "the agent came damaged"
chmod 700 tare-agent
./tare-agent nothing || fail "the agent cannot be executed in $folder"
umask "$mask"
"$@"
"""


def mend(said: str, host: str) -> str | None:
    """Return what to do about what ssh, or the host, said; None: it is not known."""
    found = next((hint for words, hint in MENDS if words in said), None)
    return None if found is None else filled(found, host=shlex.quote(host))


class Host(NamedTuple):
    """What a host says of itself."""

    system: str
    machine: str
    kernel: str
    name: str


def command(
    host: str, name: str, settings: Mapping[str, Any], needs: Iterable[str], argv: list[str]
) -> list[str]:
    """Return the command that starts an agent on a host.

    Parameters
    ----------
    host, name : str
        The host as the user wrote it, and the instance.
    settings : mapping
        The layer's options.
    needs : iterable of str
        Programs without which it is not begun.
    argv : list of str
        What starts the agent there.
    """
    file = settings["config"]
    config = [] if file is None else ["-F", str(Path(file).expanduser())]
    own = [word for one in (*SETTINGS, "ClearAllForwardings=yes") for word in ("-o", one)]
    size = str(client.binary().stat().st_size)
    given = [name, settings["folder"], size, client.digest(), " ".join(needs), *argv]
    script = shlex.join(["exec", "/bin/sh", "-c", SCRIPT, "tare", *given])
    # Of two values of one setting ssh takes the first: the user's.
    options = words("[platforms.ssh] options", settings["options"])
    return ["ssh", *options, *config, *own, "--", host, script]


class Connection(ProcessChannel):
    """The stream of an agent on another host, from the first word on.

    Parameters
    ----------
    argv : list of str
        From :func:`command`.
    host : str
        As the user wrote it.
    name : str
        Of the instance: begins the lines that the script says.
    """

    def __init__(self, argv: list[str], host: str, name: str) -> None:
        super().__init__(argv)
        self._host = host
        self._name = name

    def meet(self) -> Host:
        """Return what the host says of itself; what its login says before is passed over."""
        words = self._said("host").split()
        if len(words) < 4:
            raise PlatformError(f"{self._host} does not say what it is: {' '.join(words)[:200]!r}")
        return Host(*(_plain(word) for word in words[:4]))

    def copy(self, binary: bytes) -> None:
        """Send the agent; the host checks what arrived, and starts it."""
        self.send(b"go")
        self._said("send", noise=0)
        ends, view = time.monotonic() + STEP_S, memoryview(binary)
        pipe = self._in.fileno()
        os.set_blocking(pipe, False)
        try:
            while view:
                _, ready, _ = select.select([], [pipe], [], max(0.0, ends - time.monotonic()))
                if not ready:
                    raise PlatformError(
                        f"{self._host} has not taken the agent within {STEP_S:g} s",
                        Typed(
                            f"ssh {shlex.quote(str(self._host))} uname   (which must print Linux)"
                        ),
                    )
                view = view[os.write(pipe, view[:CHUNK]) :]
        except OSError as error:
            raise AgentError(self.last_words()) from error
        finally:
            os.set_blocking(pipe, True)

    def last_words(self) -> str:
        """Return what ssh or the host said at the end: 255 is ssh's own failure."""
        said = super().last_words()
        if self.process.returncode == 255:
            return f"the connection to {self._host} is lost: {said.partition(': ')[2]}"
        return f"on {self._host}: {said}"

    def _said(self, what: str, noise: int = NOISE) -> str:
        start = f"{self._name} {what}".encode()
        line, ends = b"", time.monotonic() + STEP_S
        for _ in range(noise + 1):
            try:
                got = self.receive(max(0.0, ends - time.monotonic()))
            except SilenceError as error:
                raise SilenceError(STEP_S, self._context()) from error
            if got is None:
                raise AgentError(self.last_words())
            line = got
            if line.startswith(start):
                return line[len(start) :].decode(errors="replace")
        raise PlatformError(
            f"{self._host} does not run what it is told, but says {line[:200]!r}",
            Typed(f"ssh {shlex.quote(str(self._host))} uname   (which must print Linux)"),
        )


def _plain(word: str) -> str:
    return re.sub(r"[^!-~]", "?", word)[:100]
