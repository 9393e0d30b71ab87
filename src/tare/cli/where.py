"""Options of one command and of several alike: where they run, on what, with what around."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Workers = Annotated[int, typer.Option(min=1, help="Instances side by side.")]
Instances = Annotated[
    str, typer.Option(help="Workers each in an own instance, or all in a shared one.")
]
Size = Annotated[
    str, typer.Option(help="Cores and memory of an instance: 2c8g, 0.5c, 1c512m, large …")
]
Pinning = Annotated[
    str,
    typer.Option(
        help="none, spread, compact; pinned: as many CPUs as the size has cores; or 0-1,3."
    ),
]
Warmup = Annotated[
    int,
    typer.Option("--warmup", "-w", min=0, help="Unmeasured executions before each measured one."),
]
Timeout = Annotated[str | None, typer.Option(help="Kill an execution that takes longer.")]
Image = Annotated[str | None, typer.Option(help="Image for a docker layer.")]
Input = Annotated[
    str | None,
    typer.Option(
        "--input", metavar="FILE", help="Standard input of each; `-`: what comes to tare's own."
    ),
]
Fingerprint = Annotated[
    bool,
    typer.Option(
        help="Where results are kept, probe the machine before and after the trials: for 5 s, "
        "at most 20 s where it is busy."
    ),
]
Network = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="SPEC",
        help="In a small network of its own, shaped so: rate 200Mbit, bucket:c5.xlarge …, none. "
        "Every trial begins with a full budget. The command finds its hosts in {hosts}, {host2} …",
    ),
]
Hosts = Annotated[
    int, typer.Option("--hosts", min=1, help="Of that network; the command runs on the first.")
]
Serve = Annotated[
    list[str] | None,
    typer.Option(
        "--serve", metavar="COMMAND", help="Runs on every other host meanwhile; may be repeated."
    ),
]
NetworkFingerprint = Annotated[
    Path | None,
    typer.Option(
        "--network-fingerprint",
        metavar="FILE",
        help="What `tare net fingerprint --json` wrote of the network that this is about: stored "
        "with the results, which are then compared with none of another network.",
    ),
]
