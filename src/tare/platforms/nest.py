"""What the agent makes around a command inside the layer where it runs, and removes again.

A layer that needs more than a command before another one (a bundle of files, mounts, control
groups, a daemon) says so in a :class:`Nest`; ``tare-agent nest`` makes it where the layer stands,
on this machine, in a guest, on a remote host, without a shell. However the command inside ends,
what was made is removed: by the agent, since its standard input ends with the front.
"""

from __future__ import annotations

import msgspec

from tare.platforms import users
from tare.platforms.layer import Place, View

#: As which the command inside has what it is given open.
DESCRIPTOR = 100


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file to write."""

    path: str
    text: str
    mode: int = 0o644


class Nest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is made, in this order, before the command inside starts.

    What of it is there already, is an error for ``folders``, ``files``, ``links`` and ``binds``:
    everything carries the name of the instance.
    """

    #: Directories, parents first; removed with all that is in them.
    folders: tuple[str, ...] = ()
    #: Those of them that another user and his group are to own.
    owners: tuple[tuple[str, int], ...] = ()
    files: tuple[File, ...] = ()
    #: Symbolic links: path and target.
    links: tuple[tuple[str, str], ...] = ()
    #: Files and directories, and where else they are seen, but for whoever looks from outside.
    binds: tuple[tuple[str, str], ...] = ()
    #: A user namespace that the command inside has as a descriptor.
    users: Users | None = None
    #: A control group of this name below the agent's own, in every hierarchy that there is, with
    #: these limits; the command inside is in it, and what is around it stays outside.
    group: Group | None = None
    #: Commands that run beside the command, such as an engine; killed at the end.
    daemons: tuple[tuple[str, ...], ...] = ()
    #: Sockets or files that must exist before the command starts, and the timeout in seconds.
    awaited: tuple[str, ...] = ()
    awaited_s: float = 30.0
    #: Working directory of the command inside; None: that of the layer around it.
    directory: str | None = None
    #: Commands before and after, of whose output only standard error is heard. One before that
    #: fails ends it all; those after are tried whatever happened.
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()


class Users(msgspec.Struct, frozen=True, kw_only=True):
    """A user namespace, in which who makes it is the user after root."""

    #: Who its root is outside.
    first: int
    count: int = users.COUNT
    descriptor: int = DESCRIPTOR


class Group(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A control group with its limits; None: not limited."""

    name: str
    quota_us: int | None = None
    period_us: int = 100_000
    cpus: str | None = None
    memory_bytes: int | None = None


def group(place: Place) -> Group:
    """Return the group that holds what is inside to the limits of a place."""
    return Group(
        name=place.name,
        quota_us=None if place.cores is None else place.quota_us,
        period_us=place.period_us,
        cpus=None if place.cpus is None else ",".join(map(str, place.cpus)),
        memory_bytes=place.memory_bytes,
    )


def around(argv: list[str], nest: Nest, outer: View, place: Place) -> list[str]:
    """Return the command that makes a nest where a layer stands, runs another, and cleans up."""
    spec = msgspec.json.encode(nest).decode()
    return [outer.agent, "nest", "--name", place.name, "--spec", spec, "--", *argv]


def folder(outer: View, place: Place, layer: str) -> str:
    """Return where a layer keeps what it needs for an instance."""
    # The same layer may stand in itself.
    return f"{outer.scratch}/{place.name}.{outer.depth}.{layer}"
