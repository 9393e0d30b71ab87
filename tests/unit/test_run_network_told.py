"""What ``tare run --network`` tells of the network."""

from __future__ import annotations

from tare.cli.summary import Trial
from tare.cli.summary_network import told


def trial(number: int, sent: float, dry: float | None = None) -> Trial:
    values = {("network_sent_bytes", "qdisc"): sent}
    if dry is not None:
        values["network_dry_ns", "qdisc"] = dry
    return Trial(number, "ok", values=values)


def test_what_was_sent_and_what_ran_dry_are_told() -> None:
    dry = [trial(0, 1e6, 0.0), trial(1, 1e6, 2e9), trial(2, 2e6, 4e9)]
    assert told(dry) == (
        "8 Mbit sent a trial, headers included; a bucket ran dry in 2 of 3, for 3.00 s over all "
        "hosts"
    )


def test_nothing_is_told_of_what_was_not_there() -> None:
    assert told([Trial(0, "ok")]) is None
    assert told([]) is None
    assert told([trial(0, 1e6)]) == "8 Mbit sent a trial, headers included"
    assert "dry" not in str(told([trial(0, 1e6, 0.0)]))
