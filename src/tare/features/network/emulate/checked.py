"""What ``tare net emulate`` was asked for, checked before anything is built."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.cli.command_line import split
from tare.errors import ExperimentError, Typed, UsageError
from tare.networks.replay import resolved
from tare.networks.shaping.specification import Shaping, parse
from tare.options.measuring import MOST_HOSTS

if TYPE_CHECKING:
    from tare.features.network.emulate.options import EmulateOptions

_EXAMPLE = Typed("tare net emulate bucket:c5.xlarge budget=10Gbit -- ip addr")


@dataclass(frozen=True)
class Asked:
    """The network to emulate, and the command to run in it.

    Attributes
    ----------
    shapes : tuple of Shaping
        Of every host, host 1 first.
    on : tuple of int
        Hosts on which the command runs.
    serve : tuple of tuple of str
        Commands for every other host.
    interface : str or None
        Interface of this machine to shape in place of an emulated network.
    lasts_s : float or None
        After which the command is ended; None: when it ends.
    """

    shapes: tuple[Shaping, ...]
    command: tuple[str, ...]
    on: tuple[int, ...]
    serve: tuple[tuple[str, ...], ...]
    interface: str | None
    lasts_s: float | None


def asked(given: EmulateOptions) -> Asked:
    """Check what was typed, and read the traces that it names.

    Raises
    ------
    UsageError
        If it contradicts itself or cannot be understood.
    InputError, StoreError
        If a trace that is to be replayed cannot be read.
    """
    shapes = _shapes(given)
    on = _on(given.on, len(shapes))
    if given.interface is not None:
        _fits_an_interface(given)
    if given.serve and not given.command:
        raise UsageError(
            "--serve is for the time of a command, and there is none", "write a command after --"
        )
    return Asked(
        shapes=shapes,
        command=tuple(given.command),
        on=on,
        serve=tuple(tuple(split(line)) for line in given.serve),
        interface=given.interface,
        lasts_s=given.duration,
    )


def _shapes(given: EmulateOptions) -> tuple[Shaping, ...]:
    own = dict(given.host)
    text = " ".join(given.spec)
    if not text and not own:
        raise UsageError("how shall the network be shaped?", _EXAMPLE)
    count = given.hosts or max(2, *own, 2) if given.interface is None else 1
    if beyond := [host for host in own if host > count]:
        raise UsageError(
            f"--host {beyond[0]}=…: the network has {count} hosts", Typed(f"--hosts {beyond[0]}")
        )
    if count > MOST_HOSTS:
        raise UsageError(
            f"a network has at most {MOST_HOSTS} hosts", Typed(f"--hosts {MOST_HOSTS}")
        )
    _check_dashes(given)
    general = resolved(parse(text)) if text else None
    shapes = {host: resolved(parse(spec)) for host, spec in own.items()}
    return tuple(shapes.get(host, general) for host in range(1, count + 1))


def _check_dashes(given: EmulateOptions) -> None:
    """Refuse a command among the words of the shape: what is run stands after ``--``."""
    for number, word in enumerate(given.spec):
        if not number or given.command or shutil.which(word) is None:
            continue
        try:
            parse(" ".join(given.spec[:number]))
        except ExperimentError:
            continue
        at = sys.argv.index(word) if word in sys.argv else len(sys.argv)
        raise UsageError(
            f"{word} is a command, and -- is missing before it",
            Typed(shlex.join(["tare", *sys.argv[1:at], "--", *sys.argv[at:]])),
        )


def _on(host: int | str, count: int) -> tuple[int, ...]:
    if isinstance(host, str):
        return tuple(range(1, count + 1))
    if host <= count:
        return (host,)
    raise UsageError(f"--on {host} is no host from 1 to {count}, nor all", Typed("--on all"))


def _fits_an_interface(given: EmulateOptions) -> None:
    for option, value in (("--hosts", given.hosts), ("--serve", given.serve)):
        if value:
            raise UsageError(
                f"--interface shapes this host, and {option} is of a network of its own",
                f"leave out {option}, or --interface",
            )


def placed(asked: Asked) -> Sequence[int]:
    """Return the hosts on which servers run: those on which the command does not."""
    return [host for host in range(1, len(asked.shapes) + 1) if host not in asked.on]
