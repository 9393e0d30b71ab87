"""The brief fingerprint, by which a machine is recognised from one session to the next."""

from __future__ import annotations

from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint.measure import take as measured
from tare.features.machine.fingerprint.request import Asked


def take(deadline_s: float = 5.0, seed: int = 1, probes: tuple[str, ...] = ()) -> Fingerprint:
    """Take a fingerprint of the core probes of the bare machine, within seconds.

    Parameters
    ----------
    deadline_s : float
        Seconds of rounds: as many are performed as fit, whatever they bring.
    seed : int
        Decides the order of the probes.
    probes : tuple of str
        Which of them; none: all.

    Returns
    -------
    Fingerprint
        ``values`` of each figure has one value a round.

    Raises
    ------
    PlatformError, AgentError
        If no agent works on the bare machine.
    KeyboardInterrupt
        If somebody interrupts it: what it brought so far is of no use.
    """
    asked = Asked(words=probes, effort="brief", budget_s=deadline_s, precision=None, seed=seed)
    found, interrupted = measured(asked)
    if interrupted:
        raise KeyboardInterrupt
    return found
