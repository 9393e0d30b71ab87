"""The network of a session that is to have one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tare.experiment.session.request import Request
from tare.results.message import Message, message

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts


def network(
    request: Request, name: str, folder: Path, note: Callable[[Message], None]
) -> Hosts | None:
    """Make the network in which a session's trials take place; None: the machine's own.

    Parameters
    ----------
    request : Request
        Whether there is to be one, and who wants to know how far it is.
    name : str
        Of the session.
    folder : Path
        What instances are shown.
    note : callable
        Takes what is to be reported with the answers.
    """
    experiment = request.plan.experiment
    if not experiment.networked:
        return None
    # Whoever needs no network does not load what makes one.
    from tare.experiment.session.hosts import Hosts

    request.progress.stage("making the network")
    hosts = Hosts(name, experiment, folder, request.user, request.progress.stage, note)
    if request.past.trials and experiment.network.budget == "carry":
        note(message("net.session.resumed"))
    return hosts
