"""What is written down of an instance when it has started: what it is, and what is seen in it."""

from __future__ import annotations

from tare.agent import record
from tare.experiment.journal import SEEN, ClockCheck, InstanceStart, MachineFact
from tare.experiment.session.resident import Resident
from tare.platforms import clocks

#: An agent that is idle answers at once; more than this means that it hangs.
ANSWER_S = 10.0


def begun(resident: Resident, *, cold: bool) -> InstanceStart:
    """Return what an instance was given; ``cold``: it is the first of its stack."""
    key, place = resident.key, resident.place
    return InstanceStart(
        instance=place.name,
        platform=key.platform,
        size=key.size,
        pinning=key.pinning,
        cores=place.cores,
        cpus=place.cpus,
        memory_bytes=place.memory_bytes,
        workers=key.workers,
        cold=cold,
        start_ns=resident.instance.start_ns,
    )


def clock_check(resident: Resident) -> ClockCheck:
    """Return how far the clocks inside are from those of this machine.

    Raises
    ------
    AgentError
        If the agent does not answer.
    """
    offset = clocks.compare(resident.agent, ANSWER_S)
    return ClockCheck(instance=resident.place.name, **offset._asdict())


def of_platform(resident: Resident, own: list[record.Fact]) -> list[MachineFact]:
    """Return what holds for all instances of a stack: what its layers and the agent say."""
    platform = resident.key.platform
    told = [
        MachineFact(name=name, value=value, unit=unit, source=source, platform=platform)
        for name, value, unit, source in resident.instance.facts
    ]
    for fact in own:
        # How many CPUs a quota comes to is the quota's, not the platform's.
        whole = fact.name == "cpus_visible" and resident.key.cores is None
        if fact.name not in SEEN or whole:
            told.append(_fact(fact, platform, None))
    return told


def of_instance(resident: Resident, own: list[record.Fact]) -> list[MachineFact]:
    """Return what a program sees in one instance."""
    return [
        _fact(fact, resident.key.platform, resident.place.name) for fact in own if fact.name in SEEN
    ]


def _fact(fact: record.Fact, platform: str, instance: str | None) -> MachineFact:
    return MachineFact(
        name=fact.name,
        value=fact.value,
        unit=fact.unit,
        source=fact.source,
        platform=platform,
        instance=instance,
    )
