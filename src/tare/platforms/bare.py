"""The empty stack: a process of this machine, with nothing around it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tare.agent import client
from tare.agent.client import Channel, ProcessChannel
from tare.errors import PlatformError
from tare.platforms import groups, root, scope, unshare
from tare.platforms.layer import Figure, Ground, Layer, Place, Root, View
from tare.registry import Description

ACCOUNTS = "/etc/passwd"


class Bare(Ground):
    """Starts processes on the host; everything that is not a container stands on it."""

    description = Description(
        name="bare",
        title="this machine itself",
        question="What does the workload take with nothing around it?",
    )
    is_host = True
    takes_root = True

    def view(self, outer: View, place: Place) -> View:
        """Show this machine's files, or those of a root; its users are there all the same."""
        return outer if place.root is None else msgspec.structs.replace(root.view(), users=True)

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Start a command as a child, in a control group of its own where it can have one."""
        argv = [*_entering(place), *argv]
        with _confined(place.cpus):
            if scope.works():
                return ProcessChannel(scope.wrap(argv, place))
            own = [*groups.limited(place), *groups.confined(place)]
            return ProcessChannel(groups.entering(list(dict.fromkeys(own)), argv))

    def mend(self, said: str) -> str | None:
        """Explain what systemd lacks, or which switch forbids user namespaces."""
        if "systemd hands no" in said:
            return "run it as root, on docker, or without a quota or size"
        return unshare.switch(said) if "cannot make a user namespace" in said else None

    def ended(self, place: Place) -> list[Figure]:
        """Remove the groups that limited it."""
        if not scope.works() and place.limited:
            groups.release(place.name)
        return []


def _entering(place: Place) -> list[str]:
    """Return what to put before a command that is to be in a network, or in a root."""
    words = [] if place.network is None else ["--network", place.network]
    if place.root is not None:
        words += ["--root", place.root.path]
        words += ["--write" if place.writable else "--read", f"{root.SHARED}={place.shared}"]
        for inside, outside in root.written(View(agent="", shared=""), place):
            words += ["--write", f"{inside}={outside}"]
        for inside, outside in (*place.root.layers, *_accounts(place.root, place)):
            words += ["--read", f"{inside}={outside}"]
    return [str(client.binary()), "enter", *words, "--"] if words else []


def _accounts(given: Root, place: Place) -> tuple[tuple[str, str], ...]:
    """Return a list of accounts with the user of this machine as whom commands run, if any.

    The root need not know him, and programs fail that look for his name: mpirun does.
    """
    uid, gid = (
        (os.geteuid(), os.getegid()) if place.user is None else (place.user.uid, place.user.gid)
    )
    accounts = Path(f"{given.path}{ACCOUNTS}")
    if uid == 0 or accounts.is_symlink():
        return ()
    text = accounts.read_text(errors="surrogateescape") if accounts.exists() else ""
    if any(line.split(":")[2:3] == [str(uid)] for line in text.splitlines()):
        return ()
    made = Path(place.scratch, "passwd")
    line = f"user{uid}:x:{uid}:{gid}::/tmp:/bin/sh\n"
    made.write_text(f"{text.rstrip()}\n{line}".lstrip(), errors="surrogateescape")
    made.chmod(0o644)
    return ((ACCOUNTS, str(made)),)


@contextlib.contextmanager
def _confined(cpus: tuple[int, ...] | None) -> Iterator[None]:
    """Start what is started on some CPUs alone: a process inherits them from the thread.

    Raises
    ------
    PlatformError
        If this process may use none of them.
    """
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        raise PlatformError(
            f"CPUs {', '.join(map(str, cpus))} cannot be used here: {error.strerror}"
        ) from error
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


UNIT = Bare()
