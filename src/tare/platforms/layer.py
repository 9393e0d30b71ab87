"""What a layer of a platform is, and what it makes.

A stack is a sequence of layers, outside-in. The outermost one, a :class:`Ground`, starts a first
process; every layer inside it only puts its own command before the agent's
(``unshare … tare-agent serve``), so that one line of arguments starts the whole stack. What a
layer needs beside its command (files, directories, control groups) the agent of the layer around
it makes and removes: see :mod:`tare.platforms.nest`.

A place's limits are held by one layer alone: the outermost that ``holds``. All others are started
with :attr:`Place.unlimited`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from tare.agent import record
from tare.agent.client import Agent, Channel
from tare.errors import ExperimentError
from tare.host.lease import Remnant
from tare.registry import Description, checked

#: How what is inside a layer is in a network that tare made. ``host``: in the namespace of host 1,
#: which is around it. The others have an address of their own beside it: in a namespace that is
#: made for it; by an interface that is moved into a ``container`` once that has started, or that a
#: virtual machine opens (``tap``). ``none``: not at all.
NetworkEnd = Literal["host", "own_namespace", "container", "tap", "none"]

#: Name, value, unit, source.
Told = tuple[str, bool | int | float | str, str | None, str]


class Held(NamedTuple):
    """What an instance is held to; None: to nothing."""

    #: CPU time a second of time.
    cores: float | None = None
    memory_bytes: int | None = None


NOT_HELD = Held()


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """The files of an application, which are seen in the place of this machine's."""

    #: Directory whose files are the root; nobody writes to it.
    path: str
    #: Of what is in it: what is made of it once, such as an image for Docker, is called by it.
    digest: str
    #: Further directories that are seen, read-only: path inside, and here.
    layers: tuple[tuple[str, str], ...] = ()
    #: Folder on a disk in which every instance gets one of its own; None: instances get none.
    disk_parent: str | None = None


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """By what an instance that is not in host 1's namespace is in an emulated network."""

    #: In host 1's namespace.
    interface: str
    #: Of the instance.
    address: str
    prefix: int
    #: Among what is shared: the addresses of all hosts.
    host_file: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What one instance of a platform is given."""

    #: Names everything that is made for it, e.g. ``tare-1a2b3c-0``.
    name: str
    #: Host directory that every instance shows, read-only unless it is ``writable``.
    shared: str
    #: The session's directory in memory; None: ``shared`` lies in it.
    folder: str | None = None
    #: Whether the agent inside is to make files there: for probes, never beside what is measured.
    writable: bool = False
    #: As whom commands run that are not to have root's rights, where there are users of the host.
    user: record.User | None = None
    cpus: tuple[int, ...] | None = None
    #: CPU time a second of time, by a quota with this period.
    cores: float | None = None
    period_us: int = 100_000
    memory_bytes: int | None = None
    #: Options of layers by layer name.
    options: dict[str, dict[str, Any]] = {}
    #: Commands of the user's (which need their files), or built-in kernels only.
    runs_commands: bool = False
    #: Files of this machine that the commands need: programs, and their inputs.
    files: tuple[str, ...] = ()
    #: File in ``shared`` that lists paths, one per line, that processes inside must not read.
    hidden: str | None = None
    #: Whether the innermost layer, if it can, starts each program itself: the agent stays outside.
    starts_programs: bool = False
    #: Whether a layer around holds what is inside to limits, by control groups.
    held: bool = False
    #: Path of the network namespace that it is to be in; None: the network that is around it.
    network: str | None = None
    #: What is seen in the place of this machine's files; None: those. One layer of a stack alone is
    #: given it.
    root: Root | None = None
    #: What a layer inside shows in that way: this one only has it, at ``View.root``.
    carried: Root | None = None
    #: What it has there for itself, where that is known before it starts.
    port: Port | None = None
    #: Host directory of this instance alone, on a disk, which is seen, writable, at ``/disk``.
    disk: str | None = None

    @property
    def scratch(self) -> str:
        """Host directory of this instance alone, for what its layers make; not shown inside."""
        folder = Path(self.shared).parent if self.folder is None else Path(self.folder)
        return str(folder / f"{self.name}.layers")

    @property
    def quota_us(self) -> int:
        """CPU time in each period, as the kernel counts it."""
        assert self.cores is not None
        return round(self.cores * self.period_us)

    @property
    def limited(self) -> bool:
        """Whether it is held to anything."""
        return not (self.cores is None and self.cpus is None and self.memory_bytes is None)

    @property
    def unlimited(self) -> Place:
        """The same place for a layer that another one of the stack holds to its limits."""
        return msgspec.structs.replace(
            self, cores=None, cpus=None, memory_bytes=None, held=self.held or self.limited
        )


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a layer shows to what is inside of it."""

    #: Path of the agent.
    agent: str
    #: Path of the shared directory.
    shared: str
    #: Where layers that stand here make files: writable, in memory, and not seen further inside.
    scratch: str = ""
    #: Where the files of an application are that the layer carries for one inside of it.
    root: str | None = None
    #: How many layers are around what sees this.
    depth: int = 0
    #: Whether users of the host exist inside, so that a command can run as one of them.
    users: bool = True
    #: Whether it is a machine that tare made and is alone in: nothing runs there beside the agent.
    own_machine: bool = False
    #: Whether the files that it shows are this machine's, under the same names.
    host_files: bool = False
    #: Whether it is a container whose root is root of this machine, kept only by what it may do.
    machine_root: bool = False


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One value that a layer itself measured of an instance, from its start to its end."""

    metric: str
    source: str
    value: int | float

    def sample(self, trial: int) -> record.Sample:
        """Return it as a sample of the whole trial."""
        return record.Sample(
            id=0,
            trial=trial,
            worker=None,
            iteration=None,
            phase="measured",
            metric=self.metric,
            source=self.source,
            value=self.value,
        )


class Starter(msgspec.Struct, frozen=True, kw_only=True):
    """How a sandbox starts a program itself, with the agent outside.

    The sandbox's report of what it measured follows what the program writes to standard output.
    """

    #: Words of its command line before the program's; the last option is the environment's.
    words: tuple[str, ...]
    #: What goes before ``NAME=VALUE`` for each environment variable of the program.
    variable: str
    #: What goes before the working directory.
    directory: str
    #: Path of the agent and of the shared directory inside.
    agent: str
    shared: str
    #: Source of the figures in the report.
    source: str
    #: Reads the figures of a report: metric and value.
    read: Callable[[str], dict[str, int]]
    #: Reads how the program ended: "exit code 3"; None where it ended well, or nothing is reported.
    read_failure: Callable[[str], str | None]


@dataclass
class Instance:
    """A running platform with the agent resident in it."""

    agent: Agent
    #: The shared directory, as seen from inside.
    shared: str
    #: The agent's process id on the host; None where the host's kernel does not see it.
    host_pid: int | None
    #: Whether commands can run as a user of the host.
    users: bool
    _end: Callable[[], list[Figure]]
    #: Whether the shared directory is the host's memory, so that workers of several instances can
    #: meet in it and what commands say ends up on the host.
    shares_memory: bool = True
    #: Whether it is a machine that was made for it, with processors and memory of its size.
    own_machine: bool = False
    #: From asking for it to the agent's hello.
    start_ns: int = 0
    facts: tuple[Told, ...] = ()
    #: How its sandbox starts programs; None: the agent inside starts them.
    starter: Starter | None = None
    _open: bool = True

    def close(self) -> list[Figure]:
        """End the agent and the platform; return what its layers measured. May be called twice."""
        if not self._open:
            return []
        self._open = False
        try:
            self.agent.close()
        finally:
            figures = self._end()
        return figures


class Layer:
    """One layer; a unit overrides what it does differently."""

    description: Description
    #: A stand-in for tests: works everywhere, measures nothing, is never offered.
    double = False
    #: Stacks that are offered beside the layer alone.
    stacks: tuple[str, ...] = ()
    #: Stacks that are told of, and tried only when asked for: where machines are emulated, an
    #: engine takes a minute to start in one.
    slow_stacks: tuple[str, ...] = ()
    #: Holds what is inside to cores, CPUs and memory by itself. The outermost such layer of a
    #: stack does so; where there is none, the ground does.
    holds = False
    #: Puts what is inside into control groups of its own, where limits set outside do not hold.
    moves_groups = False
    #: What is written after a colon, ``ssh:HOST``; a layer that takes one overrides ``named``.
    argument: str | None = None
    #: Programs that are to be found where it stands; a machine that tare makes is given them.
    needs: tuple[str, ...] = ()
    #: Programs that must run already where it stands, such as an engine: a machine that tare makes
    #: is given them as well, and the layer starts them there (``View.own_machine``).
    engine: tuple[str, ...] = ()
    #: What is inside sees files of its own, not those of the host under the same names.
    own_files = False
    #: Shows the files of ``Place.root`` in the place of all others.
    takes_root = False
    #: Has those files at ``View.root``, so that a layer inside can show them.
    carries_root = False
    #: Shows files that the layer around it carries.
    takes_carried_root = False
    #: Shows the files of ``Place.files`` all the same, under their names, unless it is given an
    #: ``image`` or a ``root`` of its own.
    brings_files = False
    #: Of each of these files it shows the whole folder.
    shows_folders = False
    #: Shows this machine's files, but empty ones in place of those that ``Place.hidden`` lists.
    hides = False
    #: Runs what is inside as a user whom nobody knows, whoever starts it.
    own_users = False
    #: How what is inside is in the network of a place that has one.
    network_end: NetworkEnd = "host"
    #: Maps many users, which is not allowed in an ordinary user's network: there is only himself.
    many_users = False
    #: Needs rights over the machine that a container does not have by itself.
    privileged = False
    #: Takes no rights over the machine from what is inside.
    keeps_rights = False
    #: Whether the shared directory inside is the host's memory, on which both sides can wait.
    shares_memory = True
    #: Can start each program itself; see ``Place.starts_programs``.
    starts_programs = False

    def named(self, argument: str) -> Layer:
        """Return this layer with what is written after its colon.

        Raises
        ------
        ExperimentError
            If it takes nothing there.
        """
        name = self.description.name
        raise ExperimentError(f"{name} takes nothing after a colon ({name}:{argument})", name)

    def files(self) -> tuple[str, ...]:
        """Return files of this machine that its programs need where these are packed."""
        return ()

    def check_here(self, place: Place) -> None:
        """Raise PlatformError, with what would mend it, where it cannot work on the host."""

    def view(self, outer: View, place: Place) -> View:
        """Return what is seen inside, from what is seen outside."""
        return outer

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Put the layer's own command before one that is to run inside."""
        return argv

    def mend(self, said: str) -> str | None:
        """Return what to do about what was said when the start failed, or None."""
        return None

    def patience_s(self, place: Place) -> float:
        """Return how long its start may take, beyond that of a container."""
        return 0.0

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Return what a result must say of the layer."""
        return ()

    def starter(self, outer: View, place: Place) -> Starter:
        """Return how an instance that has begun starts programs; for ``starts_programs``."""
        raise NotImplementedError

    def ended(self, place: Place) -> list[Figure]:
        """Let go of what an instance had, and return what the layer measured of it."""
        return []

    def remnants(self) -> list[Remnant]:
        """Return everything of this kind that tare made and this user may remove."""
        return []

    def settings(self, place: Place) -> dict[str, Any]:
        """Return the layer's options in the experiment, with the defaults of the others."""
        name = self.description.name
        return checked(f"[platforms.{name}]", self.description, place.options.get(name, {}))


class Ground(Layer):
    """A layer that starts the first process when it stands outermost, as it usually must."""

    #: Whether what is inside finds the host's own programs.
    is_host = False
    #: Whether programs inside are neither this machine's nor packed from it.
    foreign = False
    #: Whether root of a layer inside would be root to the files of this machine that it shows.
    keeps_root = False
    #: Whether it can stand inside other layers, by ``wrap``, as well.
    nests = False

    def check_inner(self, place: Place, inner: Sequence[Layer]) -> None:
        """Raise PlatformError, with what would mend it, where such layers cannot stand inside."""

    def inside(self) -> Layer:
        """Return the layer that stands inside others, for one that ``nests``."""
        return self

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Start a command, with the layers inside already before it, and return its streams.

        Raises
        ------
        PlatformError
            If it cannot be started, with what would mend it.
        """
        raise NotImplementedError
