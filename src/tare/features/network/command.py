"""``tare net``: measure a network's variability, find what shapes it, replay it."""

from __future__ import annotations

from tare.cli.commands import Commands
from tare.features.network import report, serve
from tare.features.network.emulate import command as net_emulate
from tare.features.network.fingerprint import command as net_fingerprint
from tare.features.network.identify import command as net_identify
from tare.features.network.measure import command as net_measure
from tare.features.network.plan import command as net_plan

app = Commands(
    help="""Measure, identify and emulate networks.

        tare net measure 192.0.2.1 --key lab.key
    """,
    no_args_is_help=True,
)
app.command("serve")(serve.serve)
app.command("measure")(net_measure.measure)
app.command("report")(report.report)
app.command("identify")(net_identify.identify)
app.add_typer(net_fingerprint.app, name="fingerprint")
app.command("plan")(net_plan.plan)
app.command("emulate", cls=net_emulate.Divided)(net_emulate.emulate)
