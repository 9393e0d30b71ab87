"""What the machine can do, before and after the trials of a session."""

from __future__ import annotations

from tare.errors import TareError
from tare.experiment import journal
from tare.experiment.session.request import Request
from tare.render.words import sentence, text
from tare.results.message import Duration, message

#: That the probes take, as long as nobody else disturbs them.
TAKE_S = 5.0


def weigh(request: Request, writer: journal.Writer, moment: journal.Moment) -> None:
    """Keep what probes find of the machine; that they fail loses no trial.

    No observer may watch meanwhile: it makes context switches dearer [1.8 → 2.8 µs].
    """
    if request.weigh is None:
        return
    running = message("execute.probes.running", moment=moment, time=Duration(TAKE_S))
    request.progress.stage(text(running))
    try:
        writer.write(*request.weigh(moment))
    except TareError as error:
        note = sentence(message("execute.probes.failed", moment=moment, why=error.message))
        writer.write(journal.Note(message=note))
        request.progress.note(note)
    writer.sync()
