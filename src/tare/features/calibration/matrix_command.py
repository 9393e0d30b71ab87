"""``tare calibrate --settings``: the same sweep under every combination, and which is fair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tare.cli import console
from tare.cli.delivery import reporting
from tare.errors import InterruptError, PlatformError, StoreError, TareError, TrialError, Typed
from tare.experiment import plan_file
from tare.experiment.specification import Experiment
from tare.experiment.supplies import Supplies
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import boot, fairness, file, matrix
from tare.features.calibration.matrix import Combination, Matrix
from tare.features.calibration.session import FILE, delivered, measure
from tare.host import settings
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import NeedsRootError
from tare.render.words import paragraph
from tare.results.report import Report


def known() -> list[str]:
    """Return the names of all settings: those that can be held, and those of the start."""
    return [*settings.units(), *boot.NAMES]


def asked(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each setting that was asked for; none where no matrix was."""
    return matrix.asked(words, known()) if words else {}


def check(values: dict[str, tuple[str, ...]], kernel: KernelFiles | None = None) -> None:
    """See that some combination can be had, now or after a start of the machine.

    Raises
    ------
    PlatformError
        If none can.
    """
    some = look(matrix.combinations(values), kernel or KernelFiles())
    if all(one.state == "left out" for one in some):
        which = f"none of the {len(some)} combinations" if len(some) > 1 else "no combination"
        raise PlatformError(
            f"{which} can be had here; {some[0].label}: {some[0].why}",
            some[0].hint,
        )


def begin(
    found: Experiment,
    values: dict[str, tuple[str, ...]],
    folder: Path,
    each_s: float,
    supplies: Supplies,
    *,
    as_root: bool,
    kernel: KernelFiles | None = None,
) -> Report:
    """Measure a sweep under every combination that can be had, and rank them by fairness."""
    there = kernel or KernelFiles()
    some = look(matrix.combinations(values), there)
    made = Matrix(asked=values, experiment=found, each_s=each_s, combinations=some)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}", "choose another --out"
        ) from error
    return _go_on(made, folder, supplies, as_root=as_root, kernel=there)


def resume(
    folder: Path,
    supplies: Supplies,
    *,
    as_root: bool,
    kernel: KernelFiles | None = None,
) -> Report:
    """Go on with what a folder holds: after an interruption, or a start of the machine."""
    there = kernel or KernelFiles()
    made = matrix.read(folder, known())
    some = tuple(_kept(one, folder) for one in made.combinations)
    made = msgspec.structs.replace(made, combinations=look(some, there))
    return _go_on(made, folder, supplies, as_root=as_root, kernel=there)


def _kept(one: Combination, folder: Path) -> Combination:
    """Let what is told to be measured, but whose calibration is gone, be measured again."""
    gone = one.state == "measured" and not (folder / one.folder / FILE).is_file()
    return matrix.became(one, "to do") if gone else one


def look(some: Sequence[Combination], kernel: KernelFiles) -> tuple[Combination, ...]:
    """Tell of each combination that was not measured whether it can be had now."""
    return tuple(one if one.state == "measured" else _now(one, kernel) for one in some)


def _now(one: Combination, kernel: KernelFiles) -> Combination:
    at_start, running = boot.divided(one.settings)
    error: TareError | None = boot.obstacle(at_start, kernel)
    if error is None and not boot.fits(at_start, kernel):
        return matrix.became(one, "waiting", boot=boot.parameters(at_start, kernel))
    if error is None:
        found = settings.check(running, kernel=kernel).values()
        error = next((e for e in found if e is not None), None)
    if error is None:
        return matrix.became(one, "to do")
    return matrix.became(one, "left out", why=error.message, hint=_typed(error))


def _typed(error: TareError) -> str | None:
    """Let a hint for want of rights be about this command, not about the doctor."""
    return Typed("sudo") if isinstance(error, NeedsRootError) else error.hint


def _go_on(
    made: Matrix,
    folder: Path,
    supplies: Supplies,
    *,
    as_root: bool,
    kernel: KernelFiles,
) -> Report:
    from tare.features.calibration import matrix_entries

    matrix.write(made, folder)
    matrix_entries.announce(made, folder)
    for number, one in enumerate(made.combinations, 1):
        if one.state == "to do":
            console.err.print()
            console.err.print(f"Settings {one.label} ({number} of {len(made.combinations)})")
            now = _one(made, one, folder, supplies, as_root=as_root, kernel=kernel)
            made = matrix.with_one(made, now)
            matrix.write(made, folder)
    made = judged(made, folder)
    matrix.write(made, folder)
    report = matrix_entries.report(made, _measured(made, folder), folder, kernel)
    if not made.standings and not any(c.state == "waiting" for c in made.combinations):
        first = next(c for c in made.combinations if c.state != "measured")
        with reporting(delivered(report, folder)):
            raise TrialError(
                f"no combination could be measured; {first.label}: {first.why}", first.hint
            )
    return report


def _one(
    made: Matrix,
    one: Combination,
    folder: Path,
    supplies: Supplies,
    *,
    as_root: bool,
    kernel: KernelFiles,
) -> Combination:
    """Hold the settings of one combination and sweep; what fails is told, and the rest goes on."""
    below = folder / one.folder
    _, running = boot.divided(one.settings)
    try:
        with settings.hold(running, kernel=kernel):
            measure(
                made.experiment,
                below,
                made.each_s,
                supplies,
                resume=(below / plan_file.FILE).exists(),
                as_root=as_root,
                settings=one.settings,
                again=folder,
            )
    except InterruptError:
        raise
    except TareError as error:
        console.err.print(f"Failed  {one.label}: {error.message}", soft_wrap=True)
        return matrix.became(one, "failed", why=error.message, hint=error.hint)
    return matrix.became(one, "measured")


def judged(made: Matrix, folder: Path) -> Matrix:
    """Return the matrix with the combinations in the order of their fairness."""
    measured = _measured(made, folder)
    by_label = {one.label: one for one in made.combinations}
    rows = fairness.standings({name: (by_label[name], found) for name, found in measured.items()})
    work = next((found.work for found in measured.values()), None)
    made = msgspec.structs.replace(made, standings=rows, work=work)
    return msgspec.structs.replace(made, answer=paragraph(fairness.answer(made)))


def _measured(made: Matrix, folder: Path) -> dict[str, Calibration]:
    """Read what was measured so far, by the label of its combination."""
    measured = [one for one in made.combinations if one.state == "measured"]
    found = {one.label: file.read(folder / one.folder / FILE)[0] for one in measured}
    return {label: one for label, one in found.items() if isinstance(one, Calibration)}
