"""The report of ``tare calibrate --settings``: which is the fairest, and what it costs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tare.cli import again, console
from tare.errors import advice
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import boot, fairness
from tare.features.calibration.entries import OTHER_MACHINE
from tare.features.calibration.matrix import FILE, Matrix
from tare.features.calibration.sweep import WINDOWS
from tare.host.kernel_files import KernelFiles
from tare.render.words import sentence, text
from tare.results.message import Said, message
from tare.results.report import Entry, NextStep, Report


def announce(made: Matrix, folder: Path) -> None:
    """Report the number of combinations, the unavailable ones and those that need a reboot."""
    states = [one.state for one in made.combinations]
    due = states.count("to do")
    windows = made.experiment.stopping.trials or WINDOWS
    planned = message(
        "{combinations | counted('combination')} in {folder}: {due} to measure now"
        "{% if done %}, {done} measured already{% endif %}{% if time %}, {time}{% endif %}"
        "{% if waiting %}, {waiting} waiting for a start of the machine{% endif %}",
        combinations=len(states),
        folder=str(folder),
        due=due,
        done=states.count("measured"),
        time=console.about(due * windows * made.each_s) if due else None,
        waiting=states.count("waiting"),
    )
    console.err.print(f"Matrix  {text(planned)}", soft_wrap=True)
    for one in made.combinations:
        if one.state == "left out":
            console.err.print(f"Left out {one.label}: {one.why}", soft_wrap=True)
            if one.hint:
                console.err.print(
                    f"  {advice(again.completed(one.hint) or one.hint)}", soft_wrap=True
                )


def report(
    made: Matrix, measured: Mapping[str, Calibration], folder: Path, kernel: KernelFiles
) -> Report:
    """Return the report of all combinations: their page, with what a terminal shows.

    Parameters
    ----------
    made : Matrix
    measured : mapping
        Calibrations by the label of their combination.
    folder : Path
        Where all of it is.
    kernel : KernelFiles
        Of the machine that some combinations need to be started anew.
    """
    from tare.features.calibration import page

    figures = msgspec.structs.asdict(made)
    # That of the report.
    del figures["version"]
    resuming = shlex.join(["tare", "calibrate", "--resume", "--out", str(folder)])
    laid = page.of_matrix(made, measured, resuming)
    return msgspec.structs.replace(
        laid,
        command="calibrate",
        figures=figures,
        entries=(*_entries(made, laid.answers, folder, kernel),),
        next_steps=(*_next(made, folder),),
    )


def _entries(
    made: Matrix, answers: tuple[Said, ...], folder: Path, kernel: KernelFiles
) -> Iterator[Entry]:
    yield from (Entry("Answer", sentence(one), "strong") for one in answers)
    if len(made.standings) > 1:
        yield Entry("Note", sentence(fairness.IN_ORDER))
    for one in made.combinations:
        if one.state == "failed":
            yield Entry("Failed", message("{setting}: {why}", setting=one.label, why=one.why))
    waiting = [one for one in made.combinations if one.state == "waiting"]
    if waiting:
        needed = message("these need other kernel parameters, and wait for a reboot")
        yield Entry("Waiting", sentence(needed))
    for one in waiting:
        parameters = " ".join(one.boot) or message("without intel_pstate=… and amd_pstate=…")
        said = message("{setting}: {parameters}", setting=one.label, parameters=parameters)
        yield Entry("", said)
    if waiting:
        yield from (Entry("", line) for line in boot.instructions(waiting[0].boot, kernel))
    yield Entry("Kept", str(folder / FILE))


def _next(made: Matrix, folder: Path) -> Iterator[NextStep]:
    """Yield what to type next; where a combination waits for a reboot, what comes after that."""
    first = next((one for one in made.combinations if one.state == "waiting"), None)
    if first is not None:
        yield NextStep(
            shlex.join(["tare", "calibrate", "--resume", "--out", str(folder.absolute())]),
            message("after a reboot with {setting}", setting=first.label),
        )
        return
    if not made.standings:
        return
    best = made.standings[0]
    _, running = boot.divided(best.settings)
    if best.verdict == "inconclusive":
        yield NextStep("tare doctor", message("what disturbs this machine?"))
    elif not running or all(row.fairest for row in made.standings):
        yield OTHER_MACHINE
    else:
        held = ",".join(f"{name}={value}" for name, value in running.items())
        command = shlex.join(["tare", "doctor", "--fix", held, "--", "sh"])
        yield NextStep(command, message("a shell with these settings"))
