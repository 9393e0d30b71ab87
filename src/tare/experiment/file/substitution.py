"""Whether the commands of an experiment file and the user's own factors know each other."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from tare import registry
from tare.experiment.file.table import Source, Table, closest, shown, suggestion
from tare.experiment.specification import KNOWN_FACTORS, Experiment
from tare.workloads import placeholders
from tare.workloads.specification import WorkloadSpec

#: Factors that a cell has no level of where they are not given.
_IF_VARIED = ("quota", "period", "network")
#: Names of output files that are compared; no plan has more cells.
_MOST_NAMES = 100_000
LITERAL = "a brace that is meant as such is written twice: {{ and }}"


def check(source: Source, experiment: Experiment) -> None:
    """Check that every placeholder has a level, and that every factor changes something.

    Raises
    ------
    ExperimentError
        If a placeholder stands for nothing, or a factor of the user's own is nobody's.
    """
    own = [name for name in experiment.factors if name not in KNOWN_FACTORS]
    # Without a quota there is no limit, and so no number to put in its place.
    always = tuple(name for name in KNOWN_FACTORS if name not in _IF_VARIED)
    varied = tuple(name for name in _IF_VARIED if name in experiment.factors)
    of_hosts = _of_hosts(experiment)
    levels = ("workload", *always, *varied, *own, placeholders.SEED)
    known = (*levels, *of_hosts)
    used: set[str] = set()
    for number, workload in enumerate(experiment.workloads, 1):
        named = (*known, *workload.arguments)
        if workload.application is not None:
            named = (*named, *placeholders.GIVEN)
        if workload.spans_hosts:
            named = (*named, placeholders.HOST)
        table = Table(source, f"workload[{number}]", {})
        used |= _used_in(table, _texts(workload), named)
        _check_output(table, workload, experiment, (*levels, *workload.arguments))
        used |= _of_application(Table(source, "factors", {}), workload, experiment)
    _check_output_names(source, experiment)
    for command in experiment.network.serve:
        own_hosts = (*of_hosts, placeholders.HOST)
        _used_in(Table(source, "network", {}), {"serve": command}, own_hosts)
    table = Table(source, "factors", {})
    arguments = [name for workload in experiment.workloads for name in workload.arguments]
    for name in own:
        meant = None if name in used else closest(name, (*KNOWN_FACTORS, *arguments))
        if any(workload.kernel for workload in experiment.workloads):
            raise table.error(
                name,
                f"is no known factor; kernels take only {', '.join(KNOWN_FACTORS)}",
                meant or "measure kernels in an experiment of their own",
            )
        if meant is not None:
            raise table.error(name, "is used by no command", meant)
        for workload in experiment.workloads:
            if workload.application is not None and name not in _all_of(workload):
                raise table.error(
                    name,
                    f"is no parameter of {workload.application.name}",
                    suggestion(name, tuple(workload.arguments)),
                )


def _check_output(
    table: Table, workload: WorkloadSpec, experiment: Experiment, known: tuple[str, ...]
) -> None:
    """Check that the file of a command's output is of one command alone, unless by trial."""
    if not workload.keeps_output:
        return
    path = Path(workload.output)
    _used_in(table, {"output": (path.name,)}, (*known, *placeholders.OF_TRIAL))
    used = placeholders.names(path.name)
    if used_in_folder := placeholders.names(str(path.parent)):
        name = min(used_in_folder)
        raise table.error("output", f"{{{name}}} is in the name of a folder, and not of the file")
    sharing = [w for w in experiment.workloads if _same_file(w.output, workload.output)]
    levels = {"workload": sharing, **experiment.factors}
    wanted = ["worker"] if experiment.factors.get("workers", (1,)) != (1,) else []
    if "trial" not in used:
        wanted += [factor for factor, some in levels.items() if len(some) > 1]
    for name in wanted:
        if name not in used:
            by = "worker" if name == "worker" else "trial"
            whole = path.with_name(f"{path.stem}-{{{by}}}{path.suffix}")
            who = "command" if name == "workload" else name
            raise table.error(
                "output",
                f"every {who} would overwrite {path.name}",
                table.setting("output", shlex.quote(str(whole)), "workload"),
            )


def _check_output_names(source: Source, experiment: Experiment) -> None:
    """Check that no two cells write the same file, whatever their levels are."""
    writers: dict[str, tuple[int, ...]] = {}
    for number, workload in enumerate(experiment.workloads, 1):
        path = Path(workload.output)
        used = placeholders.names(path.name)
        if not workload.keeps_output or "trial" in used:
            continue
        factors = {name: some for name, some in experiment.factors.items() if name in used}
        unknown = {name: f"{{{name}}}" for name in used}
        crossed = itertools.islice(itertools.product(*factors.values()), _MOST_NAMES)
        for place, levels in enumerate(crossed):
            given = dict(zip(factors, levels, strict=True))
            if not all(experiment.takes(workload.name, *one) for one in given.items()):
                continue
            texts = {name: str(level) for name, level in given.items()}
            values = {**unknown, "workload": workload.name, **texts}
            name = placeholders.fill_name(path.name, values)
            file = os.path.normpath(path.with_name(name))
            for written in (file, f"{file}.err"):
                if writers.setdefault(written, (number, place)) != (number, place):
                    table = Table(source, f"workload[{number}]", {})
                    apart = path.with_name(f"{path.stem}-{{trial}}{path.suffix}")
                    raise table.error(
                        "output",
                        f"two cells would write {Path(written).name}",
                        table.setting("output", f'"{apart}"', "workload"),
                    )


def _same_file(one: str, other: str) -> bool:
    """Whether two names, relative to one folder, are of the same file; links are not followed."""
    return os.path.normpath(one) == os.path.normpath(other)


def _all_of(workload: WorkloadSpec) -> set[str]:
    """Return what a level of an application's can change: its parameters, and what it names."""
    texts = [text for some in _texts(workload).values() for text in some]
    return {*workload.arguments, *(name for text in texts for name in placeholders.names(text))}


def _of_application(table: Table, workload: WorkloadSpec, experiment: Experiment) -> set[str]:
    """Return the factors that are parameters of an application, whose levels it can have."""
    if workload.application is None:
        return set()
    of = {p.name: p for p in workload.application.parameters if p.name in experiment.factors}
    for name, parameter in of.items():
        for level in experiment.factors[name]:
            try:
                registry.typed(parameter, str(level))
            except ValueError:
                raise table.error(
                    name,
                    f"{shown(level)} is not possible for {workload.application.name}; expected "
                    f"{registry.expected(parameter)}",
                ) from None
    return set(of)


def _of_hosts(experiment: Experiment) -> tuple[str, ...]:
    """Return the placeholders that a network of the experiment's brings."""
    if not experiment.networked:
        return ()
    return tuple(placeholders.of_hosts(("",) * experiment.network.hosts, ""))


def _used_in(
    table: Table, by_key: Mapping[str, tuple[str, ...]], known: tuple[str, ...]
) -> set[str]:
    used: set[str] = set()
    for key, texts in by_key.items():
        for text in texts:
            try:
                used |= placeholders.names(text)
            except ValueError as error:
                raise table.error(key, f"{shown(text)}: {error}", LITERAL) from None
        for name in sorted(used.difference(known)):
            raise table.error(
                key,
                f"there is no factor for the placeholder {{{name}}}",
                _hosts_wanted(table, name, known) or f"{suggestion(name, known)}; {LITERAL}",
            )
    return used


def _hosts_wanted(table: Table, name: str, known: tuple[str, ...]) -> str | None:
    """Return what would make a placeholder one of the hosts of a network; None: nothing."""
    if not placeholders.is_of_hosts(name):
        return None
    if placeholders.HOSTS not in known:
        return 'network = ["none", "rate 200Mbit"] in [factors] makes a network with hosts'
    number = name.removeprefix(placeholders.HOST)
    is_host = number.isdigit() and int(number)
    return table.setting("hosts", number, "network") if is_host else None


def _texts(workload: WorkloadSpec) -> dict[str, tuple[str, ...]]:
    """Return everything of a workload that may hold placeholders, by key."""
    return {
        "command": workload.command or (),
        "application": () if workload.application is None else workload.application.texts,
        "environment": tuple(workload.environment.values()),
        "directory": (workload.directory,) if workload.directory else (),
        **{
            name: (text,)
            for name in ("input", "setup", "prepare", "conclude", "cleanup")
            if (text := getattr(workload, name)) is not None
        },
    }
