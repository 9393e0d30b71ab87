"""Whether the processor had to slow down for its heat."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import THROTTLES, View
from tare.registry import Description
from tare.results.message import message


def examine(view: View) -> Diagnosis:
    """Sum the counters of all cores, and look whether they move."""
    names = view.kernel.glob(THROTTLES)
    if not names:
        return unknown()
    count = sum(view.kernel.number(name) or 0 for name in names)
    now = view.after.throttled - view.before.throttled if view.before and view.after else 0
    value = message(
        "throttled {count} times since boot{% if now %}, {now} times just now{% endif %}",
        count=count,
        now=now,
    )
    if now > 0:
        return fail(
            value,
            "times", "speed", "parallel",
            why=message("the processor slows down for its heat at this moment"),
            change=message("let it cool: better air, fewer workers, or turbo off"),
            fix={"turbo": "off"},
        )  # fmt: skip
    if count:
        return warn(
            value,
            "speed",
            why=message("it can happen again in long measurements"),
            change=message("compare the counters before and after: tare doctor --quick --json -"),
        )
    return ok(message("never throttled since boot"))


UNIT = Look(
    description=Description(
        name="thermal",
        title="heat",
        question="Did the processor slow down for its heat?",
        source="Intel 64 and IA-32 SDM, volume 3, Thermal Monitoring and Protection",
    ),
    order=26,
    effect=message("down to the lowest frequency, for seconds"),
    look=examine,
)
