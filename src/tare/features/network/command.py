"""``tare net``: measure a network's variability, find what shapes it, replay it."""

from __future__ import annotations

from tare.options.command import Entry, Group

GROUP = Group(
    help="""Measure, identify and emulate networks.

        tare net measure 192.0.2.1 --key lab.key
    """,
    commands={
        name: Entry(f"tare.features.network.{place}")
        for name, place in {
            "serve": "serve:serve",
            "measure": "measure.command:measure",
            "report": "report:report",
            "identify": "identify.command:identify",
            "fingerprint": "fingerprint.command:GROUP",
            "plan": "plan.command:plan",
            "emulate": "emulate.command:emulate",
        }.items()
    },
)
