"""How noisy it is now: what interrupts a program that does nothing but read the clock."""

from __future__ import annotations

from tare.features.machine.doctor.checks import units
from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import CpuNoise, View
from tare.registry import Description
from tare.results.message import Amount, Atom, Duration, Message, message

#: Share of time lost to detours.
LIMIT = 0.01
#: A single detour of a time slice is another task, not an interrupt.
SLICE_NS = 1e6
#: Most CPUs that are listed, the noisiest first.
MOST_CPUS = 4
#: Common timer frequencies of kernels, in Hz.
TICKS = (100, 250, 300, 1000)
#: Checks of what makes noise.
CAUSES = ("load", "interrupts", "steal")


def examine(view: View) -> Diagnosis:
    """Find the CPU that lost most, and what comes regularly."""
    if view.noise is None:
        return unknown(message("not measured (--quick)"))
    if not view.noise.cpus:
        return unknown(
            message("it could not be measured{% if why %}: {why}{% endif %}", why=view.noise.why)
        )
    worst = max(view.noise.cpus, key=lambda cpu: cpu.lost)
    count = len(view.noise.cpus)
    shown = [worst] if count > MOST_CPUS else view.noise.cpus
    value = message(
        "{% if count %}worst of {count}: {% endif %}{cpus | join('; ')}",
        count=count if count > MOST_CPUS else None,
        cpus=[_of(cpu) for cpu in shown],
    )
    longest = max((cpu.longest_ns or 0.0 for cpu in view.noise.cpus), default=0.0)
    if worst.lost >= LIMIT:
        return fail(
            value,
            "times",
            "network",
            why=message(
                "CPU {cpu} loses {lost} of its time{% if tasks %}, at times to what runs as "
                "long as a task, here or on a host{% endif %}",
                cpu=str(worst.cpu),
                lost=Amount(worst.lost, "share"),
                tasks=longest >= SLICE_NS,
            ),
            change=message(
                "{% if checks %}see {checks | listing}; try again when it is quieter"
                "{% else %}try again later (cause unknown: load, interrupts and steal show "
                "none){% endif %}",
                checks=_causes(view),
            ),
        )
    return ok(value)


def _causes(view: View) -> list[Atom]:
    """Return the titles of the checks that say what the noise may come from."""
    checks = {name: units()[name] for name in CAUSES}
    return [
        check.description.title
        for check in checks.values()
        if check.diagnose(view).verdict in ("fail", "warn")
    ]


def _of(cpu: CpuNoise) -> Message:
    return message(
        "CPU {cpu} loses {lost} of its time{% if rate %}, {rate} detours a second{% endif %}"
        "{% if median %}, median {median}{% endif %}{% if longest %}, longest {longest}"
        "{% endif %}{% if period %} ({period}){% endif %}",
        cpu=str(cpu.cpu),
        lost=Amount(cpu.lost, "share"),
        rate=round(cpu.rate_hz or 0),
        median=Amount(cpu.median_ns, "ns") if cpu.median_ns else None,
        longest=Amount(cpu.longest_ns, "ns") if cpu.longest_ns else None,
        period=period(cpu.period_ns) if cpu.period_ns else None,
    )


def period(period_ns: float) -> Message:
    """Return what comes so often: the timer's tick is known by its rate."""
    rate = 1e9 / period_ns
    if any(abs(rate - known) < 0.05 * known for known in TICKS):
        return message("at {hz} Hz, the timer's tick", hz=round(rate))
    if rate >= 1:
        return message("at {hz} Hz, not the timer's tick: another task or a device", hz=round(rate))
    return message("every {period}", period=Duration(period_ns / 1e9))


UNIT = Look(
    description=Description(
        name="noise",
        title="noise now",
        question="How often, and for how long, does something else take the CPU at this moment?",
        source="Petrini, Kerbyson and Pakin, The case of the missing supercomputer performance, "
        "2003; the detour method of Beckman et al., 2006",
    ),
    order=70,
    effect=message(
        "every run loses this share of its time, and some runs the longest detour at once"
    ),
    look=examine,
)
