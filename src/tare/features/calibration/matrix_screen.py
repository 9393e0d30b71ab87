"""What ``tare calibrate --settings`` prints: which is the fairest, and what it costs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from tare.cli import console
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import boot, fairness
from tare.features.calibration.matrix import FILE, Matrix
from tare.features.calibration.page_tables import standings
from tare.features.calibration.sweep import WINDOWS
from tare.host.kernel_files import KernelFiles
from tare.render.tables import lay
from tare.render.terminal import aligned
from tare.render.words import sentence, text
from tare.results.message import message


def announce(made: Matrix, folder: Path) -> None:
    """Tell how many combinations there are, and which cannot be had or have to wait."""
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
                console.err.print(f"  try: {one.hint}", soft_wrap=True)


def write_page(made: Matrix, measured: Mapping[str, Calibration], folder: Path) -> Path | None:
    """Draw the page of all combinations; None where nothing was measured."""
    from tare.features.calibration import page as calibration_page
    from tare.render import files

    if not measured:
        return None
    words = ["tare", "calibrate", "--resume", "--out", str(folder)]
    page = folder / "report.html"
    return files.write(calibration_page.of_matrix(made, measured, shlex.join(words)), page)[0]


def show(made: Matrix, folder: Path, page: Path | None, kernel: KernelFiles) -> None:
    """Print which settings are the fairest, the table, what waits, and where things are."""
    out = console.out
    if made.standings and made.answer:
        out.print(made.answer, style="bold", soft_wrap=True)
        out.print()
        laid = lay(standings(made))
        heads = (f"{head.title}, {head.unit}".removesuffix(", ") for head in laid.heads)
        for line in aligned([tuple(heads), *laid.rows], left=3):
            out.print(line, soft_wrap=True)
        out.print()
        if len(made.standings) > 1:
            out.print(f"Note    {sentence(fairness.IN_ORDER)}", style="yellow", soft_wrap=True)
    for one in made.combinations:
        if one.state == "failed":
            failed = message("{setting}: {why}", setting=one.label, why=one.why)
            out.print(f"Failed  {text(failed)}", style="yellow", soft_wrap=True)
    _tell_waiting(made, folder, kernel)
    if page is not None:
        out.print(f"Page    {page}", soft_wrap=True)
    out.print(f"Kept    {folder / FILE}", soft_wrap=True)
    if made.standings and not any(one.state == "waiting" for one in made.combinations):
        out.print(f"Next    {_next(made)}", soft_wrap=True)


def _tell_waiting(made: Matrix, folder: Path, kernel: KernelFiles) -> None:
    waiting = [one for one in made.combinations if one.state == "waiting"]
    if not waiting:
        return
    out = console.out
    out.print(sentence(message("these need other kernel parameters, and wait for a reboot")))
    for one in waiting:
        out.print(f"  {one.label}: {_words(one.boot)}", soft_wrap=True)
    first = waiting[0]
    out.print(f"Next    for {first.label}:", soft_wrap=True)
    goes_on = f"tare calibrate --resume --out {shlex.quote(str(folder.absolute()))}"
    for line in [*boot.instructions(first.boot, kernel), goes_on]:
        out.print(f"  {line}", soft_wrap=True)


def _words(parameters: tuple[str, ...]) -> str:
    return " ".join(parameters) or "without intel_pstate=… and amd_pstate=…"


def _next(made: Matrix) -> str:
    best = made.standings[0]
    _, running = boot.divided(best.settings)
    if best.verdict == "inconclusive":
        return "tare doctor   (what disturbs this machine?), then again with more --windows"
    if not running or all(row.fairest for row in made.standings):
        return "tare calibrate compare A B   (what is a CPU here worth elsewhere?)"
    return f"tare doctor --fix {','.join(f'{k}={v}' for k, v in running.items())} -- COMMAND…"
