"""``tare net emulate``: a network that is shaped as asked, and a command in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tare.cli import output

_COMMAND = "tare.command"


class Divided(TyperCommand):
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
            metavar="SPEC… -- COMMAND…",
            help="How what leaves every host is shaped, and what to run there.",
        ),
    ] = None,
    hosts: Annotated[
        int | None, typer.Option(min=1, max=64, help="Hosts of the network.  [default: 2]")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="K=SPEC", help="How host K is shaped instead."),
    ] = None,
    on: Annotated[
        str, typer.Option(metavar="K|all", help="The host on which the command runs.")
    ] = "1",
    serve: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="Run on the other hosts meanwhile, as 'iperf3 -s'."),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(metavar="IF", help="Shape this interface of this host; no hosts are made."),
    ] = None,
    lasts: Annotated[
        str | None, typer.Option("--for", help="End the command, or the network, after this.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            help="First measure, for seconds, whether the network delivers what is asked."
        ),
    ] = True,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tokens over time, as NDJSON.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Keep log, answer and picture here."),
    ] = None,
    as_root: Annotated[
        bool, typer.Option("--as-root", help="Under sudo: run the command as root, not as you.")
    ] = False,
    json: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE", help="`-`: standard output; the command's goes to stderr."
        ),
    ] = None,
) -> None:
    """Run a command in a network that is shaped: token buckets, distributions, replayed traces.

    SPEC: none · rate 200Mbit · bucket high=2Gbit low=200Mbit budget=10Gbit [refill=…]
    [initial=…] · bucket:c5.xlarge budget=100Gbit · distribution 10%=200Mbit 90%=900Mbit
    every=5s [seed=1] · distribution:google · replay:FOLDER|FILE.csv|FILE.json; each [queue=1MB].
    Without refill=, tokens come back at the low rate. In the command, {host2} is the address of
    host 2, {hosts} all, {host} its own, {host_file} a file of them, {enter} what `{enter} HOST
    COMMAND` runs there, as ssh would; TARE_HOSTS and so on say the same. Exit code: the command's.
    Example: tare net emulate bucket:c5.xlarge budget=10Gbit --serve 'iperf3 -s' -- iperf3 -c
    {host2}
    """
    from tare.cli import net_emulate_asked as asking
    from tare.cli import net_emulate_folder as keeping
    from tare.cli.command_line import typed
    from tare.cli.net_emulate_screen import show
    from tare.cli.net_emulate_session import conduct
    from tare.conclude import calling_user

    output.check_writable(json, log)
    options = asking.Options(
        tuple(spec or ()), context.meta.get(_COMMAND, ()), hosts, tuple(host or ()), on,
        tuple(serve or ()), interface, lasts,
    )  # fmt: skip
    with typed():
        found = asking.asked(options)
    kept = None if out is None else keeping.prepare(out)
    user = None if as_root else calling_user()
    log = log if log or kept is None else kept / keeping.LOG
    conducted = conduct(found, check=check, log=log, user=user, answers=json == "-")
    show(conducted.emulation, conducted.moments)
    if kept is not None:
        output.err.print(keeping.keep(kept, conducted.emulation, conducted.moments))
    if json is not None:
        output.write_json(conducted.emulation, json)
    raise typer.Exit(conducted.code)
