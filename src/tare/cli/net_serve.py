"""``tare net serve``: be the other end of network probes and measurements."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import output
from tare.errors import UsageError


def serve(
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
        typer.Option(metavar="TIME", help="Longest measurement.  [default: 8d]"),
    ] = None,
    streams: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Most data streams at once.  [default: 64]"),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="Most in one measurement.  [1024TiB]"),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option("--total-bytes", metavar="SIZE", help="Most in all while it serves."),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append the log to FILE, as well as standard error."),
    ] = None,
) -> None:
    """Serve network probes and measurements to whoever has the key; Ctrl-C ends it.

    Make a key (--new-key FILE), copy the file to the other machine, start this with it and type
    there what it prints. It listens on one address, by TCP and UDP under one port, serves several
    clients at once, and sends data only to where the request came from; nothing that it receives is
    kept. Both ends prove that they have the key, which itself is never sent; the traffic in between
    is without content, and plain. It logs a line for each client. Example: tare net serve --bind
    192.0.2.1 --key lab.key
    """
    from tare import agent, peering
    from tare.cli.command_line import typed

    if new_key is not None:
        if bind is not None or key is not None:
            raise UsageError(
                "--new-key makes a key and ends", f"tare net serve --new-key {new_key}"
            )
        peering.make_key(new_key)
        output.out.print(f"Made {new_key}. Copy it to the other machine, then here:")
        output.out.print(f"    tare net serve --bind ADDRESS --key {new_key}", highlight=False)
        return
    if bind is None or key is None:
        missing = (
            "--bind is missing: the address to listen on"
            if bind is None
            else "--key is missing: the file of the secret"
        )
        raise UsageError(missing, "tare net serve --bind ADDRESS[:PORT] --key FILE")
    peering.read_key(key, absent=f"tare net serve --new-key {key}")
    where = peering.numeric(bind)
    binary = str(agent.binary())
    with typed():
        options = _bounds(longest, streams, most, total)
    if log is not None:
        options += ["--log", str(log)]
    # Nothing of the front is needed any more, signals included.
    os.execv(binary, [binary, "peer", "--bind", where, "--key-file", str(key), *options])


def _bounds(
    longest: str | None, streams: int | None, most: str | None, total: str | None
) -> list[str]:
    """Return the bounds that were given, as the agent takes them; its own hold otherwise."""
    from tare import units
    from tare.cli.quantities import read

    bounds = []
    if longest is not None:
        seconds = math.ceil(read(lambda one: units.seconds(one, 1.0), "--longest", longest))
        bounds += ["--longest", str(seconds)]
    if streams is not None:
        bounds += ["--streams", str(streams)]
    if most is not None:
        bounds += ["--bytes", str(read(units.size, "--bytes", most))]
    if total is not None:
        bounds += ["--total-bytes", str(read(units.size, "--total-bytes", total))]
    return bounds
