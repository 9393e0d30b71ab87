"""``tare net emulate``: a network that is shaped as asked, and a command in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tare.cli import console, delivery, options
from tare.cli.commands import Command

_COMMAND = "tare.command"


class Divided(Command):
    """A command line that another one follows, after ``--``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the second command line aside."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def emulate(
    context: typer.Context,
    spec: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SPEC… -- COMMAND…", help="Shape of every host's egress, and what to run."
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="End the command, or the network, after this."),
    ] = None,
    hosts: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=64, help="Hosts. [default: 2]")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="K=SPEC", help="Shape of host K instead; repeatable."),
    ] = None,
    on: Annotated[str, typer.Option(metavar="K|all", help="Host of the command.")] = "1",
    serve: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="Run on the other hosts meanwhile: 'iperf3 -s'."),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Shape this interface of this host instead."),
    ] = None,
    as_root: options.AsRoot = False,
    check: Annotated[
        bool, typer.Option(help="Do not measure first whether it delivers what is asked.")
    ] = True,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write tokens over time as NDJSON.")
    ] = None,
    json: options.Json = None,
) -> int:
    """Run a command in an emulated network.

    SPEC: none · rate 200Mbit · bucket high=2Gbit low=200Mbit budget=10Gbit [refill=…]
    [initial=…] · bucket:c5.xlarge budget=100Gbit · distribution 10%=200Mbit 90%=900Mbit
    every=5s [seed=1] · distribution:google · replay:FOLDER|FILE.csv|FILE.json; each [queue=1MB].
    Without refill=, tokens refill at the low rate.

    In the command, {host2} is the address of host 2, {hosts} all, {host} its own, {host_file} a
    file of them, and `{enter} HOST COMMAND` runs a command there, as ssh would; also in TARE_HOSTS
    and so on. Exit code: that of the command, whose output goes to stderr with --json -.

        tare net emulate bucket:c5.xlarge --serve 'iperf3 -s' -- iperf3 -c {host2}
    """
    from tare.cli.command_line import typed
    from tare.features.network.emulate import options as asking
    from tare.features.network.emulate import report
    from tare.features.network.emulate.session import conduct
    from tare.platforms.users import calling_user

    console.check_writable(json, log)
    wanted = asking.Options(
        tuple(spec or ()), context.meta.get(_COMMAND, ()), hosts, tuple(host or ()), on,
        tuple(serve or ()), interface, duration,
    )  # fmt: skip
    with typed():
        found = asking.asked(wanted)
    user = None if as_root else calling_user()
    conducted = conduct(found, check=check, log=log, user=user, answers=json == "-")
    made = report.make(conducted.emulation, conducted.moments, conducted.code)
    # Standard output is the command's.
    return delivery.deliver(made, {"json": json}, to=console.err)
