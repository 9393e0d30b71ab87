"""``tare net serve``: be the other end of network probes and measurements."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import options
from tare.errors import UsageError
from tare.results.message import message
from tare.results.report import Entry, Report


def serve(
    max_duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest measurement. [default: 8d]")
    ] = None,
    max_streams: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=1024, help="Concurrent streams. [default: 64]"),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Most of one measurement. [default: 1024TiB]"),
    ] = None,
    max_total_bytes: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Most of all measurements. [default: no limit]"),
    ] = None,
    bind: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS[:PORT]", help="Listen only here. [default port: 8273]"),
    ] = None,
    key: options.Key = None,
    new_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Make a secret, and end.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append the log, also to standard error.")
    ] = None,
) -> Report:
    """Serve network measurements to clients with the key.

    Make a key with --new-key FILE, copy the file to the other machine, start the server and type
    there what it prints; Ctrl-C ends it. TCP and UDP share one port. The key is never sent; traffic
    is not encrypted and has no content. The log has a line for each client.

        tare net serve --bind 192.0.2.1 --key lab.key
    """
    from tare.agent import client
    from tare.cli.command_line import typed
    from tare.networks import peering

    if new_key is not None:
        if bind is not None or key is not None:
            raise UsageError(
                "--new-key makes a key and ends", f"tare net serve --new-key {new_key}"
            )
        peering.make_key(new_key)
        return Report(
            command="net serve",
            name="net serve",
            question=message("Which key was made?"),
            entries=(
                Entry("Made", message("{file}: copy it to the other machine", file=str(new_key))),
            ),
            next=(message("tare net serve --bind ADDRESS --key {file}", file=str(new_key)),),
        )
    if bind is None or key is None:
        missing = (
            "--bind is missing: the address to listen on"
            if bind is None
            else "--key is missing: the file of the secret"
        )
        raise UsageError(missing, "tare net serve --bind ADDRESS[:PORT] --key FILE")
    peering.read_key(key, absent=f"tare net serve --new-key {key}")
    where = peering.numeric(bind)
    binary = str(client.binary())
    with typed():
        bounds = _bounds(max_duration, max_streams, max_bytes, max_total_bytes)
    if log is not None:
        bounds += ["--log", str(log)]
    # Nothing of the front is needed any more, signals included.
    return os.execv(binary, [binary, "peer", "--bind", where, "--key-file", str(key), *bounds])


def _bounds(
    duration: str | None, streams: int | None, size: str | None, total: str | None
) -> list[str]:
    """Return the bounds that were given, as the agent takes them; its own hold otherwise."""
    from tare import units
    from tare.cli.quantities import read

    bounds = []
    if duration is not None:
        seconds = math.ceil(read(lambda one: units.seconds(one, 1.0), "--max-duration", duration))
        bounds += ["--longest", str(seconds)]
    if streams is not None:
        bounds += ["--streams", str(streams)]
    if size is not None:
        bounds += ["--bytes", str(read(units.size, "--max-bytes", size))]
    if total is not None:
        bounds += ["--total-bytes", str(read(units.size, "--max-total-bytes", total))]
    return bounds
