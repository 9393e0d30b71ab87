"""Stacks of layers: parse one, try whether it works, start it."""

from __future__ import annotations

import contextlib
import difflib
import os
import threading
import time
from collections import defaultdict
from typing import Any

import msgspec

from tare import registry
from tare.agent import client
from tare.errors import ExperimentError, PlatformError, TareError, Typed
from tare.host import lease, processes
from tare.platforms import quota, session_folder, users
from tare.platforms import root as root_files
from tare.platforms.layer import (
    NOT_HELD,
    Figure,
    Ground,
    Held,
    Instance,
    Layer,
    NetworkEnd,
    Place,
    Root,
    Starter,
    Told,
    View,
)
from tare.registry import Availability

#: A container starts in a fifth of a second; an overloaded machine takes its time.
START_S = 60.0
#: Options of layers by which a user names files that are seen inside.
FILE_OPTIONS = ("image", "root", "show")

_tried: dict[bytes, Availability] = {}
#: One stack is tried once, several side by side.
_trying: defaultdict[bytes, threading.Lock] = defaultdict(threading.Lock)


def availability(
    stack: str,
    options: dict[str, dict[str, object]] | None = None,
    runs_commands: bool = False,
    files: tuple[str, ...] = (),
    held: Held = NOT_HELD,
    root: Root | None = None,
) -> Availability:
    """Tell whether a stack works, by starting it once; remembered as long as PATH is the same.

    A machine that is emulated takes long to boot: whether it works in a size is only looked up.

    Parameters
    ----------
    stack : str
        Layers, outside-in: ``docker/isolate``.
    options : dict, optional
        Options of layers by layer name.
    runs_commands : bool
        Whether it is to run commands of the user's.
    files : tuple of str
        What these need of this machine's files.
    held : Held
        What an instance is to be held to.
    root : Root, optional
        What is seen in the place of this machine's files.

    Returns
    -------
    Availability
        With the reason and the command that would mend it where it does not work.

    Raises
    ------
    ExperimentError
        If there is no such stack, or an option is wrong.
    AgentError
        If the agent itself is missing, so that no platform works.
    """
    client.binary()
    options = options or {}
    asked = [stack, options, runs_commands, files, held, root, os.environ.get("PATH")]
    key = msgspec.json.encode(asked, order="deterministic")
    place = Place(
        name="",
        shared="",
        options=options,
        runs_commands=runs_commands,
        files=files,
        root=root,
        # What options name is executed with no more rights than in trials.
        user=users.calling_user(),
    )
    with _trying[key]:
        if key not in _tried:
            slow = (
                held != NOT_HELD
                and availability(stack, options, runs_commands, files, root=root).emulated
            )
            _tried[key] = _attempt(stack, place, held, boot=not slow)
        return _tried[key]


def _attempt(stack: str, asked: Place, held: Held, *, boot: bool) -> Availability:
    name = lease.new_name()
    with lease.hold(name), session_folder.made(name) as shared:
        place = msgspec.structs.replace(
            asked,
            name=f"{name}-0",
            shared=str(shared),
            cores=held.cores,
            memory_bytes=held.memory_bytes,
        )
        try:
            if not boot:
                _Stacked(stack, place).check()
                return Availability(name=stack, works=True, emulated=True)
            instance = start(stack, place)
            instance.close()
        except PlatformError as error:
            return Availability(name=stack, works=False, why=error.message, fix=error.hint)
    emulated = any(name == "emulated" and value for name, value, *_ in instance.facts)
    return Availability(name=stack, works=True, emulated=emulated)


def offered() -> tuple[str, ...]:
    """Return the stacks that a user is told of: every layer alone, and those worth a line."""
    units = [unit for unit in registry.units_of("platform").values() if not unit.double]
    alone = [unit.description.name for unit in units]
    return (*alone, *(stack for unit in units for stack in unit.stacks))


def slow() -> tuple[str, ...]:
    """Return further stacks that a user is told of, which take too long to be tried unasked."""
    units = registry.units_of("platform").values()
    return tuple(stack for unit in units for stack in unit.slow_stacks)


def own_files(stack: str) -> bool:
    """Tell whether a stack shows other files than the host's to what runs in it."""
    return any(layer.own_files for layer in layers(stack))


def brings_files(stack: str, options: dict[str, dict[str, Any]]) -> bool:
    """Tell whether files of this machine that commands need are in a stack, under their names."""
    given = [options.get(layer.description.name, {}) for layer in layers(stack)]
    ground, *inner = layers(stack)
    if isinstance(ground, Ground) and ground.keeps_root and not all(one.own_users for one in inner):
        return False
    return all(layer.brings_files or not layer.own_files for layer in layers(stack)) and not any(
        one.get(name) is not None for one in given for name in ("image", "root")
    )


def showing(stack: str) -> str | None:
    """Return the innermost layer of a stack with an option for more files to show; None: none."""
    for layer in reversed(layers(stack)):
        parameters = {one.name for one in layer.description.parameters}
        if layer.own_files and root_files.SHOW.name in parameters:
            return layer.description.name
    return None


def network_end(stack: str) -> NetworkEnd:
    """Return how what is inside of all layers is in a network that tare made."""
    ends = [one.network_end for one in _network_ends(stack)]
    return ends[0] if len(ends) == 1 else "none" if ends else "host"


def _network_ends(stack: str) -> list[Layer]:
    """Return the layers of a stack that are not in the network around them, outside-in.

    A container whose engine runs in a virtual machine of tare's is in the machine's network.
    """
    found: list[Layer] = []
    for layer in layers(stack):
        in_machine = any(one.network_end == "tap" for one in found)
        if layer.network_end != "host" and not (in_machine and layer.engine):
            found.append(layer)
    return found


def network_needs_root(stack: str) -> bool:
    """Tell whether a stack cannot be in a network that an ordinary user made."""
    return bool(_network_ends(stack)) or any(one.many_users for one in layers(stack))


def own_network(stack: str) -> str | None:
    """Return the layer of a stack that keeps what is inside out of such a network, if any."""
    ends = _network_ends(stack)
    # An end of a network leads into one layer, and no further.
    outside = [one for one in ends if one.network_end == "none"] or ends[1:]
    return outside[0].description.name if outside else None


def other_network(stack: str, options: dict[str, dict[str, Any]]) -> tuple[str, str] | None:
    """Return the first layer of a stack that is told to be in a network, and in which."""
    names = [layer.description.name for layer in layers(stack)]
    asked = ((name, options.get(name, {}).get("network", "none")) for name in names)
    return next(((name, network) for name, network in asked if network != "none"), None)


def starts_programs(stack: str) -> bool:
    """Tell whether a stack's innermost layer can start the program of each execution."""
    return layers(stack)[-1].starts_programs


def shares_memory(stack: str) -> bool:
    """Tell whether the shared directory of a stack's instances is the host's memory."""
    return all(layer.shares_memory for layer in layers(stack))


def layers(stack: str) -> list[Layer]:
    """Return the layers of a stack, outside-in, the first of them a ground.

    Raises
    ------
    ExperimentError
        If a name is unknown, or a layer cannot stand where it does.
    """
    units: dict[str, Layer] = registry.units_of("platform")
    found: list[Layer] = []
    for word in stack.split("/"):
        name, colon, argument = word.partition(":")
        if name not in units:
            known = [name for name, unit in units.items() if not unit.double]
            close = difflib.get_close_matches(name, known, n=1)
            raise ExperimentError(
                f"there is no platform layer {name!r}"
                + (f" (in {stack!r})" if name != stack else ""),
                f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}",
            )
        found.append(units[name].named(argument) if colon else units[name])
    names = [layer.description.name for layer in found]
    for number, layer in enumerate(found[1:], 1):
        if not isinstance(layer, Ground):
            continue
        found[number] = layer.inside()
        if not layer.nests:
            name = layer.description.name
            raise ExperimentError(
                f"{name} can only be the outermost layer, not inside of {names[0]} ({stack!r})",
                f"write {names[0]!r}" if name == "bare" else f"begin the stack with {name!r}",
            )
    return found if isinstance(found[0], Ground) else [units["bare"], *found]


def start(stack: str, place: Place) -> Instance:
    """Start an instance of a stack, and return when its agent has said hello.

    Parameters
    ----------
    stack : str
        Layers, outside-in.
    place : Place
        What the instance is given.

    Returns
    -------
    Instance
        With its agent, which has said hello.

    Raises
    ------
    ExperimentError
        If there is no such stack, or an option is wrong.
    PlatformError
        If it cannot be started: why, and what would mend it.
    """
    began = time.monotonic_ns()
    with contextlib.ExitStack() as made:
        if place.root is not None and place.root.disk_parent is not None:
            if os.geteuid() and stack != "bare":
                raise PlatformError(
                    f"{stack} with a folder on a disk needs root's rights: what other users write "
                    "to it, only root can remove",
                    Typed("sudo   (or platform bare)"),
                )
            folder = session_folder.on_disk(place.root.disk_parent, place.name)
            place = msgspec.structs.replace(place, disk=made.enter_context(folder))
        stacked = _Stacked(stack, place)
        made.enter_context(session_folder.scratch(place.scratch))
        stacked.check()
        agent = stacked.agent()
        kept = made.pop_all()

    def end() -> list[Figure]:
        with kept:
            return stacked.end()

    instance = Instance(
        agent=agent,
        shared=stacked.inside.shared,
        host_pid=processes.agent(place.name),
        users=stacked.inside.users,
        shares_memory=all(layer.shares_memory for layer in stacked.layers),
        own_machine=any(view.own_machine for view in stacked.views),
        start_ns=time.monotonic_ns() - began,
        _end=end,
    )
    try:
        instance.facts = stacked.facts()
        instance.starter = stacked.starter()
        if place.cores is not None and instance.host_pid is not None:
            instance.facts += quota.told(instance.host_pid, place)
    except BaseException:
        instance.close()
        raise
    return instance


class _Stacked:
    """The layers of one instance, each with the place that it is to make."""

    def __init__(self, stack: str, place: Place) -> None:
        self.stack = stack
        self.name = place.name
        self.layers = layers(stack)
        holding = next((layer for layer in self.layers if layer.holds), self.layers[0])
        self.root = place.root
        carrier, taker = _carrier_and_taker(self.layers)
        if place.root is not None:
            # Commands find their files in it, and none of this machine's.
            place = msgspec.structs.replace(place, files=())
        self.places = [
            msgspec.structs.replace(
                place if layer is holding else place.unlimited,
                root=place.root if layer is taker else None,
                carried=place.root if layer is carrier else None,
                disk=place.disk if layer in (carrier, taker) else None,
            )
            for layer in self.layers
        ]
        self.holder = holding
        self.views = [
            View(
                agent=str(client.binary()),
                shared=place.shared,
                scratch=place.scratch,
                host_files=True,
            )
        ]
        for layer, own in zip(self.layers, self.places, strict=True):
            layer.settings(own)
            view = layer.view(self.views[-1], own)
            self.views.append(msgspec.structs.replace(view, depth=len(self.views)))

    @property
    def ground(self) -> Ground:
        """The outermost layer."""
        ground = self.layers[0]
        assert isinstance(ground, Ground)
        return ground

    @property
    def inside(self) -> View:
        """What the agent sees."""
        return self.views[-1]

    def check(self) -> None:
        """Raise PlatformError where it is known beforehand that it cannot be started."""
        own = own_network(self.stack)
        if own is not None and self.places[0].network is not None:
            raise PlatformError(
                f"{own} cannot be a host of an emulated network in {self.stack}", "platform bare"
            )
        if self.root is not None:
            refusal = root_refusal(self.stack, self.places[0].options)
            if refusal is not None:
                raise refusal
            root_files.check(self.root)
        self.ground.check_inner(self.places[0], self.layers[1:])
        held_by_bare = self.holder is self.ground and self.ground.is_host
        limited = self.places[0].cores or self.places[0].memory_bytes
        for layer, place in zip(self.layers, self.places, strict=True):
            if layer is self.ground or self.ground.is_host:
                layer.check_here(place)
            if layer.moves_groups and held_by_bare and limited:
                name = layer.description.name
                raise PlatformError(
                    f"{name} on the bare machine cannot be held to a quota or size: "
                    "it has control groups of its own",
                    f"use docker/{name}, or leave the quota or size out",
                )

    def agent(self) -> client.Agent:
        """Start the ground with the agent inside all layers, and wait for its hello."""
        argv = [self.inside.agent, "serve", "--name", self.name]
        try:
            inner = list(zip(self.layers, self.views, self.places, strict=False))[1:]
            for layer, outer, place in reversed(inner):
                argv = layer.wrap(argv, outer, place)
            channel = self.ground.start(argv, self.places[0], self.layers[1:])
            told = zip(self.layers, self.places, strict=True)
            timeout_s = START_S + sum(layer.patience_s(p) for layer, p in told)
            return client.Agent(channel, timeout_s=timeout_s)
        except TareError as error:
            self.end()
            hints = (layer.mend(error.message) for layer in reversed(self.layers))
            raise PlatformError(
                f"{self.stack} did not start: {error.message}",
                error.hint or next((hint for hint in hints if hint is not None), None),
            ) from error
        except BaseException:
            self.end()
            raise

    def starter(self) -> Starter | None:
        """Return how the innermost layer starts programs; None: the agent inside does."""
        inner, place = self.layers[-1], self.places[-1]
        if not (place.starts_programs and inner.starts_programs):
            return None
        return inner.starter(self.views[-2], place)

    def facts(self) -> tuple[Told, ...]:
        """Return what a result must say of the layers."""
        # Of programs that are not this machine's, layers inside know no versions.
        known = 1 if self.ground.foreign else len(self.layers)
        told = list(zip(self.layers, self.places, strict=True))[:known]
        return tuple(fact for layer, place in told for fact in layer.facts(place))

    def end(self) -> list[Figure]:
        """Let go of what the layers had for it, and return what they measured."""
        ended = zip(self.layers, self.places, strict=True)
        return [figure for layer, place in ended for figure in layer.ended(place)]


def root_refusal(stack: str, options: dict[str, dict[str, Any]]) -> PlatformError | None:
    """Return why a stack cannot show the files of an application alone; None: it can."""
    found = layers(stack)
    showing = _showing(found)
    if _carrier_and_taker(found)[1] is None:
        names = " and ".join(layer.description.name for layer in showing)
        verb = "show" if showing[1:] else "shows"
        return PlatformError(
            f"an application cannot run in {stack}: {names} {verb} other files than its image's",
            "platform bare, or one of docker, podman, runc, nspawn, bubblewrap, gvisor, vm, "
            "vm/docker",
        )
    names_given = ((layer.description.name, option) for layer in showing for option in FILE_OPTIONS)
    for name, option in names_given:
        if value := options.get(name, {}).get(option):
            return PlatformError(
                f"[platforms.{name}] {option} = {value!r} and an application cannot be both: an "
                "application has files of its own",
                f"leave {option} out of [platforms.{name}]",
            )
    return None


def _carrier_and_taker(layers: list[Layer]) -> tuple[Layer | None, Layer | None]:
    """Return the layer that shows an application's files, and before it one that carries them.

    Without the second, they come from this machine; without the first, they cannot be shown.
    """
    match _showing(layers):
        case [one] if one.takes_root:
            return None, one
        case [carrier, taker] if carrier.carries_root and taker.takes_carried_root:
            return carrier, taker
        case _:
            return None, None


def _showing(layers: list[Layer]) -> list[Layer]:
    """Return the layers that show files in the place of this machine's."""
    return [layer for layer in layers if layer.own_files] or layers[:1]
