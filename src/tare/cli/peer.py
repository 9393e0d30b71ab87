"""``tare peer`` and ``tare net serve``: be the other end of a network, whoever measures it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import output
from tare.errors import ExperimentError


def peer(
    called: typer.Context,
    bind: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS[:PORT]", help="Listen here, and nowhere else. Port: 8273."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The secret that both ends share.")
    ] = None,
    new_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Make a secret, and end.")
    ] = None,
    longest: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="No measurement of a network for longer.  [default: 8d]"),
    ] = None,
    streams: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="No more data streams at once.  [default: 64]"),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="No more in one.  [default: 1024 TiB]"),
    ] = None,
) -> None:
    """Be the other end of network probes and measurements, for whoever has the key; Ctrl-C ends it.

    `tare peer` and `tare net serve` are the same. Make a key (--new-key FILE), copy the file to the
    other machine, start this with it and type there what it prints, or: tare net measure HOST
    --key FILE. It listens on one address, by TCP and UDP under one port, serves several at once,
    and sends what it is asked for only to where the request came from; nothing that it is sent is
    kept. Both ends prove that they have the key, which itself is never sent; the traffic in between
    is without content, and plain. Example: tare peer --bind 192.0.2.1 --key lab.key
    """
    from tare import agent, peering

    me = "tare net serve" if called.info_name == "serve" else "tare peer"
    if new_key is not None:
        if bind is not None or key is not None:
            raise ExperimentError("--new-key makes a key and ends", f"{me} --new-key {new_key}")
        peering.make_key(new_key)
        output.out.print(f"Made {new_key}. Copy it to the other machine, then here:")
        output.out.print(f"    {me} --bind ADDRESS --key {new_key}", highlight=False)
        return
    if bind is None or key is None:
        missing = "--bind: on which address" if bind is None else "--key: with which secret"
        raise ExperimentError(
            f"{missing} shall it listen?", f"{me} --bind ADDRESS[:PORT] --key FILE"
        )
    peering.read_key(key)
    where = peering.numeric(bind)
    binary = str(agent.binary())
    bounds = _bounds(longest, streams, most)
    # Nothing of the front is needed any more, signals included.
    os.execv(binary, [binary, "peer", "--bind", where, "--key-file", str(key), *bounds])


def _bounds(longest: str | None, streams: int | None, most: str | None) -> list[str]:
    """Return the bounds that were given, as the agent takes them; its own hold otherwise."""
    from tare.network.patterns import nanoseconds
    from tare.shaping.rates import parse_bytes

    bounds = []
    if longest is not None:
        seconds = -(-nanoseconds(longest, "--longest", 10**9) // 10**9)
        bounds += ["--longest", str(seconds)]
    if streams is not None:
        bounds += ["--streams", str(streams)]
    if most is not None:
        bounds += ["--bytes", str(parse_bytes(most, "--bytes"))]
    return bounds
