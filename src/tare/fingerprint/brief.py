"""The brief fingerprint, by which a machine is recognised from one session to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tare.fingerprint.activity import Watch, busy, share
from tare.fingerprint.asked import Asked
from tare.fingerprint.document import Fingerprint
from tare.fingerprint.measure import take as measured
from tare.journal import Activity

#: A take that others disturbed is repeated so often, before nothing is concluded from it.
REPEATS = 3


def takes(tell: Callable[[str], None]) -> Iterator[tuple[Fingerprint, Activity]]:
    """Take fingerprints until others disturb one no longer, at most ``1 + REPEATS``.

    Parameters
    ----------
    tell : callable
        Told before a take is repeated.

    Yields
    ------
    (Fingerprint, Activity)
        Each take, and how busy the machine was meanwhile.

    Raises
    ------
    As :func:`take`.
    """
    for repeat in range(1, REPEATS + 2):
        watch = Watch()
        found = take()
        activity = watch.activity()
        yield found, activity
        if not busy(activity):
            return
        if repeat <= REPEATS:
            tell(
                f"probing the machine again, {repeat} of {REPEATS} times at most: others use "
                f"{100 * share(activity):.0f} % of it"
            )


def take(deadline_s: float = 5.0, seed: int = 1) -> Fingerprint:
    """Take a fingerprint of the core probes of the bare machine, within seconds.

    Parameters
    ----------
    deadline_s : float
        Seconds of rounds: as many are performed as fit, whatever they bring.
    seed : int
        Decides the order of the probes.

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
    asked = Asked(effort="brief", budget_s=deadline_s, precision=None, seed=seed)
    found, interrupted = measured(asked)
    if interrupted:
        raise KeyboardInterrupt
    return found
