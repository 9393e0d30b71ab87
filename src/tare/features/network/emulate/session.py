"""One emulated network, from the creation of its hosts to their removal."""

from __future__ import annotations

import datetime
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.agent import record
from tare.cli import console
from tare.cli.terminal import line_width
from tare.errors import InterruptError, PlatformError, Typed
from tare.experiment import remnants
from tare.experiment.journal import HostTokens
from tare.experiment.session.hosts import Course
from tare.features.network.emulate.checked import Asked, placed
from tare.features.network.emulate.commands import Commands
from tare.features.network.emulate.emulation import Emulation, summaries
from tare.features.network.emulate.report import checks as table_of
from tare.features.network.emulate.tokens import EVERY_S, Log
from tare.features.network.emulate.verification import TRIES, Check, carries, verify
from tare.host import lease
from tare.networks.emulator import Emulator
from tare.networks.shaping.messages import describe
from tare.networks.shaping.specification import Replay, Shaping
from tare.render.screen import table
from tare.render.words import sentence, text
from tare.results.message import Amount, Chosen, Duration, Message, message

#: How often it is looked whether all is well.
_LOOK_S = 0.2


@dataclass(frozen=True)
class Conducted:
    """What became of it."""

    emulation: Emulation
    moments: list[HostTokens]
    code: int


def conduct(
    asked: Asked, *, check: bool, log: Path | None, user: record.User | None, answers: bool
) -> Conducted:
    """Build what was asked for, verify it, run the command, and take everything down.

    Parameters
    ----------
    asked : Asked
        Checked.
    check : bool
        First measure whether the network delivers what is asked.
    log : Path or None
        Where the tokens over time go.
    user : User or None
        Whom the command runs as; None: this one.
    answers : bool
        Standard output is for tare's answer: what commands print there goes to standard error.

    Raises
    ------
    PlatformError
        If the network cannot be built, does not deliver what is asked, or fails.
    """
    name = lease.new_name()
    with remnants.lease(name), ExitStack() as stack:
        folder = Path(tempfile.gettempdir()) / f"{name}-net"
        folder.mkdir(mode=0o755)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        emulator = stack.enter_context(Emulator(name, len(asked.shapes), interface=asked.interface))
        commands = stack.enter_context(Commands(emulator, folder, user))
        for host in asked.on:
            commands.fill(asked.command, host)
        unverified = _unverified(asked) if check else message("--no-check")
        checks = [] if unverified else _verified(emulator, asked, folder)
        for said in introduction(asked, unverified):
            console.err.print(sentence(said), soft_wrap=True)
        return _Session(asked, emulator, commands, log, answers).conduct(checks, unverified)


def _unverified(asked: Asked) -> Message | None:
    """Return why it cannot be verified; None: it can."""
    if asked.interface is not None:
        return message("what leaves an interface needs another end: tare net measure HOST")
    if len(asked.shapes) < 2:
        return message("a single host has no other to send to")
    if not any(asked.shapes):
        return message("nothing is shaped")
    return None


def _verified(emulator: Emulator, asked: Asked, folder: Path) -> list[Check]:
    console.err.print(
        sentence(
            message("verifying for a few seconds what the network delivers (skip with --no-check)")
        )
    )
    checks = verify(emulator, asked.shapes, folder)
    for line in table(table_of(checks), line_width(console.err), intervals=True):
        console.err.print(line, soft_wrap=True)
    if bad := [one for one in checks if not one.good]:
        raise _not_delivered(bad[0], carries(emulator, folder))
    return checks


def _not_delivered(check: Check, unshaped: float | None) -> PlatformError:
    said = message(
        "the network does not deliver what was requested for host {host}, in any of {tries} "
        "tries: {what} {asked}, delivered {% if delivered %}{delivered}{% else %}nothing"
        "{% endif %}{% if unshaped %}; unshaped, this machine now carries {unshaped}"
        "{% endif %}",
        host=check.host,
        tries=TRIES,
        what=check.what,
        asked=Chosen(check.asked, check.unit),
        delivered=None if check.delivered is None else Amount(check.delivered, check.unit),
        unshaped=None if unshaped is None else Amount(unshaped, "bits/s"),
    )
    slow = unshaped is not None and unshaped < (1 + check.within) * check.asked
    if slow and check.what != "budget":
        return PlatformError(text(said), Typed("--no-check   (or a lower rate)"))
    return PlatformError(text(said), "queue=2.5MB (a longer queue keeps it busy), or --no-check")


def introduction(asked: Asked, unverified: Message | None) -> list[Message]:
    """Say how each host is shaped, and what was not verified."""
    said = []
    if unverified and any(asked.shapes):
        said.append(message("not verified: {why}", why=unverified))
    groups: dict[Shaping, list[int]] = {}
    for host, shaping in enumerate(asked.shapes, 1):
        groups.setdefault(shaping, []).append(host)
    for shaping, hosts in groups.items():
        said.append(
            message(
                "{% if interface %}{interface}{% elif hosts | length == 1 %}host {hosts[0]}"
                "{% elif consecutive %}hosts {hosts[0]} to {hosts[-1]}{% else %}hosts "
                "{hosts | join(', ')}{% endif %}: {shaping}",
                interface=asked.interface,
                hosts=hosts,
                consecutive=hosts == list(range(hosts[0], hosts[-1] + 1)),
                shaping=describe(shaping),
            )
        )
    if any(isinstance(one, Replay) for one in asked.shapes):
        said.append(
            message("a trace is replayed as rates, which do not depend on what is sent here")
        )
    return said


class _Session:
    def __init__(
        self, asked: Asked, emulator: Emulator, commands: Commands, log: Path | None, answers: bool
    ) -> None:
        self._asked = asked
        self._emulator = emulator
        self._commands = commands
        self._log = log
        self._answers = answers
        self._ended = 0

    def conduct(self, checks: list[Check], unverified: Message | None) -> Conducted:
        self._shape()
        self._commands.serve(self._asked.serve, placed(self._asked))
        # What servers said to each other until now is nobody's business.
        self._shape()
        before = self._emulator.look()
        began_ns = time.monotonic_ns()
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        course = Course(1, "", began_ns, before)
        log = Log(course, self._log)
        log.take(before)
        try:
            self._emulator.log(EVERY_S, log.take)
            codes = self._command() if self._asked.command else self._stand()
            self._emulator.log(None, log.take)
            after = self._emulator.look()
        finally:
            log.close()
        emulation = Emulation(
            command=self._asked.command,
            started=started,
            seconds=(after.at_ns - began_ns) / 1e9,
            hosts=summaries(self._emulator.hosts, self._asked.shapes, course.uses(after), codes),
            checks=tuple(checks),
            unverified=unverified,
        )
        code = self._ended or next((code for code in codes.values() if code), 0)
        return Conducted(emulation, course.log(after), code)

    def _shape(self) -> None:
        self._emulator.shape(dict(enumerate(self._asked.shapes, 1)))

    def _command(self) -> dict[int, int]:
        """Run the command on its hosts; return exit codes as a shell has them."""
        streams: dict[str, Any] = {"stdout": sys.stderr} if self._answers else {}
        running = {
            host: self._commands.start(self._asked.command, host, **streams)
            for host in self._asked.on
        }
        try:
            in_time = self._watch(list(running.values()))
        except KeyboardInterrupt:
            # The terminal has told the command as well.
            in_time, self._ended = True, InterruptError.exit_code
        self._commands.end()
        if not in_time:
            over = message(
                "ended after {time} (--duration)", time=Duration(self._asked.lasts_s or 0.0)
            )
            console.err.print(sentence(over))
            return {}
        return {
            host: process.returncode if process.returncode >= 0 else 128 - process.returncode
            for host, process in running.items()
        }

    def _stand(self) -> dict[int, int]:
        """Let the network stand until somebody has had enough of it."""
        for number, host in enumerate(self._emulator.hosts, 1):
            if words := shlex.join(self._emulator.enter(number)):
                console.err.print(
                    f"On host {number} ({host.address}): {words} COMMAND", soft_wrap=True
                )
        lasts = self._asked.lasts_s
        ends = message(
            "everything is removed {% if time %}after {time}, or {% endif %}at Ctrl-C",
            time=None if lasts is None else Duration(lasts),
        )
        console.err.print(sentence(ends))
        try:
            self._watch([])
        except KeyboardInterrupt:
            console.err.print()
        return {}

    def _watch(self, running: list[subprocess.Popen[bytes]]) -> bool:
        """Wait until all have ended; tell whether that was in time."""
        deadline = None if self._asked.lasts_s is None else time.monotonic() + self._asked.lasts_s
        while not running or any(process.poll() is None for process in running):
            self._emulator.check()
            self._commands.check()
            if deadline is not None and time.monotonic() >= deadline:
                return False
            _wait(running, deadline)
        return True


def _wait(running: list[subprocess.Popen[bytes]], deadline: float | None) -> None:
    left = _LOOK_S if deadline is None else max(0.0, min(_LOOK_S, deadline - time.monotonic()))
    try:
        alive = next((process for process in running if process.poll() is None), None)
        if alive is None:
            time.sleep(left)
        else:
            alive.wait(left)
    except subprocess.TimeoutExpired:
        pass
