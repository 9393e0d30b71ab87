"""Platforms that emulate a CPU: what is timed in them is no measure of a virtual machine."""

from __future__ import annotations

from tare.experiment.results import Results
from tare.results.message import Message, message


def note(results: Results) -> Message | None:
    """Name the platforms that are emulated; None where none is."""
    some = sorted(results.emulated & set(results.trial_table["platform"]))
    if not some:
        return None
    return message(
        "{platforms | listing} {% if platforms | length == 1 %}is{% else %}are{% endif %} "
        "emulated: times do not measure a VM, and no overhead is reported",
        platforms=some,
    )
