"""What the machine can do, before and after the trials of a session."""

from __future__ import annotations

from tare import journal
from tare.errors import TareError
from tare.execute.request import Request

#: That the probes take, as long as nobody else disturbs them.
TAKE_S = 5.0


def weigh(request: Request, writer: journal.Writer, moment: journal.Moment) -> None:
    """Keep what probes find of the machine; that it cannot be told loses no trial.

    No observer may watch meanwhile: it makes context switches dearer [1.8 → 2.8 µs].
    """
    if request.weigh is None:
        return
    request.progress.stage(f"probing the machine {moment} the trials, {TAKE_S:.0f} s")
    try:
        writer.write(*request.weigh(moment))
    except TareError as error:
        told = f"What the machine can do {moment} the trials is not known: {error.message}"
        writer.write(journal.Note(message=told))
        request.progress.note(told)
    writer.sync()
