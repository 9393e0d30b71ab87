"""Sentences that several modules of this package share, as templates."""

ONE_MACHINE = "all hosts are one machine, so what differs between them is chance"
