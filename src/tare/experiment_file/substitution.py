"""Whether the commands of an experiment file and the user's own factors know each other."""

from __future__ import annotations

from tare.experiment import KNOWN_FACTORS, Experiment, WorkloadSpec
from tare.experiment_file.table import Table, closest, shown, suggestion
from tare.workloads import placeholders

LITERAL = "a brace that is meant as such is written twice: {{ and }}"


def check(source: str, experiment: Experiment) -> None:
    """Check that every placeholder has a level, and that every factor changes something.

    Raises
    ------
    ExperimentError
        If a placeholder stands for nothing, or a factor of the user's own is nobody's.
    """
    own = [name for name in experiment.factors if name not in KNOWN_FACTORS]
    # Without a quota there is no limit, and so no number to put in its place.
    always = tuple(name for name in KNOWN_FACTORS if name != "quota")
    quota = ("quota",) if "quota" in experiment.factors else ()
    known = ("workload", *always, *quota, *own, placeholders.SEED)
    used: set[str] = set()
    for number, workload in enumerate(experiment.workloads, 1):
        used |= _used(Table(source, f"workload[{number}]", {}), workload, known)
    table = Table(source, "factors", {})
    for name in own:
        meant = None if name in used else closest(name, KNOWN_FACTORS)
        if any(workload.kernel for workload in experiment.workloads):
            raise table.error(
                name,
                "is a factor of your own, which kernels know nothing of",
                meant or "measure kernels in an experiment of their own",
            )
        if meant is not None:
            raise table.error(name, "is used by no command", meant)


def _used(table: Table, workload: WorkloadSpec, known: tuple[str, ...]) -> set[str]:
    used: set[str] = set()
    for key, texts in _texts(workload).items():
        for text in texts:
            try:
                used |= placeholders.names(text)
            except ValueError as error:
                raise table.error(key, f"{shown(text)}: {error}", LITERAL) from None
        for name in sorted(used.difference(known)):
            raise table.error(
                key,
                f"there is no factor for the placeholder {{{name}}}",
                f"{suggestion(name, known)}; {LITERAL}",
            )
    return used


def _texts(workload: WorkloadSpec) -> dict[str, tuple[str, ...]]:
    """Return everything of a workload that may hold placeholders, by key."""
    return {
        "command": workload.command or (),
        "environment": tuple(workload.environment.values()),
        "directory": (workload.directory,) if workload.directory else (),
        "input": (workload.input,) if workload.input else (),
    }
