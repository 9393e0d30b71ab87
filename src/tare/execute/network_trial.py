"""Whether this machine can make the network that an experiment asks, and shape it by its levels."""

from __future__ import annotations

from tare import lease, remnants
from tare.availability import Availability
from tare.errors import PlatformError, TareError
from tare.experiment import Experiment
from tare.network import replayed
from tare.network.emulator import Emulator
from tare.shaping import specification
from tare.shaping.specification import Shaping


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
            shapings[level] = replayed.resolved(specification.parse(experiment.shaped(level)))
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
