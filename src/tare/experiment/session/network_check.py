"""Whether this machine can make the network that an experiment asks, and shape it by its levels."""

from __future__ import annotations

from tare.errors import PlatformError, TareError
from tare.experiment import remnants
from tare.experiment.specification import Experiment
from tare.host import lease
from tare.networks import replay
from tare.networks.emulator import Emulator
from tare.networks.shaping import specification
from tare.networks.shaping.specification import Shaping
from tare.registry import Availability


def refused(experiment: Experiment) -> dict[str, Availability]:
    """Make the network once, and return the levels by which it cannot be shaped here.

    Raises
    ------
    PlatformError
        If it cannot be made at all: why, and what would mend it.
    """
    found: dict[str, Availability] = {}
    shapings: dict[str, Shaping] = {}
    for level in map(str, experiment.factors["network"]):
        try:
            shapings[level] = replay.resolved(specification.parse(experiment.shaped(level)))
        except TareError as error:
            found[level] = _unavailable(level, error)
    name = lease.new_name()
    try:
        with (
            remnants.lease(name),
            Emulator(name, hosts=min(experiment.network.hosts, 2)) as emulator,
        ):
            for level, shaping in shapings.items():
                try:
                    emulator.shape({1: shaping})
                except TareError as error:
                    found[level] = _unavailable(level, error)
    except TareError as error:
        raise PlatformError(
            f"the network of the experiment cannot be made here: {error.message}", error.hint
        ) from error
    return found


def _unavailable(level: str, error: TareError) -> Availability:
    return Availability(name=level, works=False, why=error.message, fix=error.hint)
