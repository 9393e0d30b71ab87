"""``tare net``: measure a network's variability, find what shapes it, replay it."""

from __future__ import annotations

from tare.cli import (
    net_emulate,
    net_fingerprint,
    net_identify,
    net_measure,
    net_plan,
    net_report,
    net_serve,
)
from tare.cli.commands import Commands

app = Commands(
    help="""Measure, identify and emulate networks.

        tare net measure 192.0.2.1 --key lab.key
    """,
    no_args_is_help=True,
)
app.command("serve")(net_serve.serve)
app.command("measure")(net_measure.measure)
app.command("report")(net_report.report)
app.command("identify")(net_identify.identify)
app.add_typer(net_fingerprint.app, name="fingerprint")
app.command("plan")(net_plan.plan)
app.command("emulate", cls=net_emulate.Divided)(net_emulate.emulate)
