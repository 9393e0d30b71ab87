"""``tare net serve``: be the other end of network probes and measurements."""

from __future__ import annotations

import math
import os
import shlex
import socket
from pathlib import Path

from tare import units
from tare.cli.call import Call
from tare.errors import Typed, UsageError
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import HOW_MANY, OUTPUT, WHERE, Options, option
from tare.results.message import message
from tare.results.report import Entry, NextStep, Report

#: Of a network that is reserved for documentation, so that no host has it (RFC 5737).
_DOCUMENTATION_ADDRESS = "192.0.2.1"


class ServeOptions(Options):
    """Options of ``tare net serve``."""

    max_bytes: int | None = option(
        kinds.SIZE, "Most of one measurement.", group=HOW_MANY, shown="1024TiB",
    )  # fmt: skip
    max_duration: float | None = option(
        kinds.quantity(lambda text: units.seconds(text, 1.0), "a time of at least 1 s", "TIME"),
        "Longest measurement.", group=HOW_MANY, shown="8d",
    )  # fmt: skip
    max_streams: int | None = option(
        kinds.whole(1, 1024), "Concurrent streams.", group=HOW_MANY, shown="64",
    )  # fmt: skip
    max_total_bytes: int | None = option(
        kinds.SIZE, "Most of all measurements.", group=HOW_MANY, shown="no limit",
    )  # fmt: skip
    bind: str | None = option(
        kinds.WORD, "Listen only here. [default port: 8273]", group=WHERE,
        metavar="ADDRESS[:PORT]",
    )  # fmt: skip
    key: Path | None = shared.KEY
    new_key: Path | None = option(kinds.PATH, "Make a secret, and end.", group=WHERE)
    log: Path | None = option(kinds.PATH, "Append the log, also to standard error.", group=OUTPUT)


@command(ServeOptions, is_small=True)
def serve(given: ServeOptions, call: Call) -> Report:
    """Serve network measurements to clients with the key.

    Make a key with --new-key FILE, copy the file to the other machine, start the server and type
    there what it prints; Ctrl-C ends it. TCP and UDP share one port. The key is never sent; traffic
    is not encrypted and has no content. The log has a line for each client.

        tare net serve --bind 192.0.2.1 --key lab.key
    """
    from tare.agent import client
    from tare.networks import peering

    new_key, bind, key = given.new_key, given.bind, given.key
    if new_key is not None:
        if bind is not None or key is not None:
            raise UsageError(
                "--new-key makes a key and ends",
                Typed(f"tare net serve --new-key {shlex.quote(str(new_key))}"),
            )
        peering.make_key(new_key)
        return Report(
            command="net serve",
            name="net serve",
            question=message("Which key was made?"),
            entries=(
                Entry("Made", message("{file}: copy it to the other machine", file=str(new_key))),
            ),
            next_steps=(
                NextStep(
                    shlex.join(
                        ["tare", "net", "serve", "--bind", _own_address(), "--key", str(new_key)]
                    )
                ),
            ),
        )
    if bind is None or key is None:
        missing = (
            "--bind is missing: the address to listen on"
            if bind is None
            else "--key is missing: the file of the secret"
        )
        raise UsageError(
            missing, "name the address to listen on with --bind, and the file of the key with --key"
        )
    peering.read_key(key, absent=Typed(f"tare net serve --new-key {shlex.quote(str(key))}"))
    where = peering.numeric(bind)
    binary = str(client.binary())
    # Nothing of the front is needed any more, signals included.
    return os.execv(
        binary, [binary, "peer", "--bind", where, "--key-file", str(key), *_bounds(given)]
    )


def _bounds(given: ServeOptions) -> list[str]:
    """Return the bounds that were given, as the agent takes them; its own hold otherwise."""
    bounds = {
        "--longest": None if given.max_duration is None else math.ceil(given.max_duration),
        "--streams": given.max_streams,
        "--bytes": given.max_bytes,
        "--total-bytes": given.max_total_bytes,
        "--log": given.log,
    }
    return [
        word for name, value in bounds.items() if value is not None for word in (name, str(value))
    ]


def _own_address() -> str:
    """Return the address from which this machine reaches others; that of loopback without any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket chooses a route, and sends nothing.
            probe.connect((_DOCUMENTATION_ADDRESS, 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
