"""What ``tare net emulate`` was asked for, checked before anything is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare import units
from tare.cli import quantities
from tare.cli.command_line import split
from tare.errors import UsageError
from tare.networks.replay import resolved
from tare.networks.shaping.specification import Shaping, parse

_EXAMPLE = "tare net emulate bucket:c5.xlarge budget=10Gbit -- COMMAND…"
#: As many as the agent builds.
MOST_HOSTS = 64
_LONGEST_S = 520 * 7 * 86_400.0


@dataclass(frozen=True)
class Options:
    """What was typed."""

    spec: tuple[str, ...]
    command: tuple[str, ...]
    hosts: int | None
    host: tuple[str, ...]
    on: str
    serve: tuple[str, ...]
    interface: str | None
    lasts: str | None


@dataclass(frozen=True)
class Asked:
    """What is meant.

    Attributes
    ----------
    shapes : tuple of Shaping
        Of every host, host 1 first.
    on : tuple of int
        Hosts on which the command runs.
    serve : tuple of tuple of str
        Commands for every other host.
    interface : str or None
        Shaped instead of a network of its own.
    lasts_s : float or None
        After which the command is ended; None: when it ends.
    """

    shapes: tuple[Shaping, ...]
    command: tuple[str, ...]
    on: tuple[int, ...]
    serve: tuple[tuple[str, ...], ...]
    interface: str | None
    lasts_s: float | None


def asked(options: Options) -> Asked:
    """Check what was typed, and read the traces that it names.

    Raises
    ------
    UsageError
        If it contradicts itself or cannot be understood.
    InputError, StoreError
        If a trace that is to be replayed cannot be read.
    """
    shapes = _shapes(options)
    on = _on(options.on, len(shapes))
    if options.interface is not None:
        _fits_an_interface(options)
    if options.serve and not options.command:
        raise UsageError(
            "--serve is for the time of a command, and there is none", f"{_EXAMPLE} --serve …"
        )
    return Asked(
        shapes=shapes,
        command=options.command,
        on=on,
        serve=tuple(tuple(split(line)) for line in options.serve),
        interface=options.interface,
        lasts_s=_lasts(options.lasts),
    )


def _shapes(options: Options) -> tuple[Shaping, ...]:
    given = dict(_of_host(one) for one in options.host)
    text = " ".join(options.spec)
    if not text and not given:
        raise UsageError("how shall the network be shaped?", _EXAMPLE)
    count = options.hosts or max(2, *given, 2) if options.interface is None else 1
    if beyond := [host for host in given if host > count]:
        raise UsageError(
            f"--host {beyond[0]}=…: the network has {count} hosts", f"--hosts {beyond[0]}"
        )
    if count > MOST_HOSTS:
        raise UsageError(f"a network has at most {MOST_HOSTS} hosts", f"--hosts {MOST_HOSTS}")
    general = resolved(parse(text)) if text else None
    own = {host: resolved(parse(spec)) for host, spec in given.items()}
    return tuple(own.get(host, general) for host in range(1, count + 1))


def _of_host(text: str) -> tuple[int, str]:
    number, equals, spec = text.partition("=")
    if not equals or not (number.isascii() and number.isdigit()) or int(number) < 1:
        raise UsageError(f"--host {text} says not which host, from 1", "--host 2='rate 200Mbit'")
    return int(number), spec


def _on(text: str, count: int) -> tuple[int, ...]:
    if text == "all":
        return tuple(range(1, count + 1))
    if text.isascii() and text.isdigit() and 1 <= int(text) <= count:
        return (int(text),)
    raise UsageError(f"--on {text} is no host from 1 to {count}, nor all", "--on all")


def _fits_an_interface(options: Options) -> None:
    for option, given in (("--hosts", options.hosts), ("--serve", options.serve)):
        if given:
            raise UsageError(
                f"--interface shapes this host, and {option} is of a network of its own",
                f"leave out {option}, or --interface",
            )


def _lasts(text: str | None) -> float | None:
    if text is None:
        return None
    return quantities.read(lambda one: units.seconds(one, 1e-9, _LONGEST_S), "--duration", text)


def placed(asked: Asked) -> Sequence[int]:
    """Return the hosts on which servers run: those on which the command does not."""
    return [host for host in range(1, len(asked.shapes) + 1) if host not in asked.on]
