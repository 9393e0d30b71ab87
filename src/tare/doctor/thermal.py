"""Whether the processor had to slow down for its heat."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import THROTTLES, View
from tare.registry import Description, scan

WORDS = ("temperature above threshold", "cpu clock throttled")


def examine(view: View) -> Diagnosis:
    """Sum the counters of all cores, and look whether they move."""
    names = view.kernel.glob(THROTTLES)
    said = [m for m in view.messages() if any(word in m.lower() for word in WORDS)]
    if not names and not said:
        return hidden()
    count = sum(view.kernel.number(name) or 0 for name in names)
    now = view.after.throttled - view.before.throttled if view.before and view.after else 0
    told = f"held back {count} times since boot"
    if now > 0:
        return bad(
            f"{told}, {now} times just now",
            "times", "speed", "parallel",
            why="the processor slows down for its heat at this moment",
            change="let it cool: better air, fewer workers, or turbo off",
            fix={"turbo": "off"} if scan("settings")["turbo"].names(view.kernel) else None,
            since_boot=count, now=now,
        )  # fmt: skip
    if count or said:
        return note(
            told,
            "speed",
            why="long measurements can meet it again",
            change="compare the counters before and after: tare doctor --quick --json -",
            since_boot=count,
            now=now,
        )
    return good("never held back since boot", since_boot=0, now=now)


UNIT = Check(
    description=Description(
        name="thermal",
        title="heat",
        question="Did the processor slow down for its heat?",
        source="Intel 64 and IA-32 SDM, volume 3, Thermal Monitoring and Protection",
    ),
    order=26,
    effect="down to the lowest frequency, for seconds",
    examine=examine,
)
