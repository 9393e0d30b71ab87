"""tare: know what your platform weighs before you trust what your benchmark reads.

Five words, used in code, command line, documentation and reports, and no synonyms:

Experiment
    A question written as data (TOML): workloads, factors with levels, order, stopping rule.
Workload
    What is measured: a built-in kernel, any command, or an application with its set-up.
    A *probe* is a workload that measures the machine itself.
Platform
    Where it runs: a stack of layers written outside-in, ``docker``, ``vm/docker``,
    ``docker/isolate``. Each layer can start, be given cores and memory, run a program and
    end. ``bare`` is the empty stack.
Trial
    One execution of one workload at one level of every factor; the unit of replication.
    *n* counts trials. A trial yields *samples*: one value of one metric of one worker in one
    iteration; its value is their mean. Trials come in *blocks* (every cell once, in random
    order) and *sessions* (one uninterrupted stretch).
Finding
    An answer with its estimate, unit, interval, method, and the trials that it rests on.

"Run" is a verb, but of a *task set*, which gives workloads many inputs with expected answers, a
*run* is one trial of one task. A *cell* is one workload at one level of every factor. Factors are
``platform``, ``size`` (cores, whole CPUs and memory), ``quota`` (CPU time a second), ``period``
(after which a quota is handed out anew), ``pinning``, ``workers``, ``load``, and any that the user
names. A trial may be a *window*: its work is done over and over and counted through whole periods.
A *calibration* is what windows at several steps of CPU say of a machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.version import __version__ as __version__

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from tare.experiment.results import Results
    from tare.library.options import AuditOptions, Command, CompareOptions, RunOptions
    from tare.library.results import AuditResult, ComparisonResult, RunResult


def open(folder: str | PathLike[str]) -> Results:
    """Open the folder of an experiment for analysis.

    Parameters
    ----------
    folder : path
        What ``tare experiment run --out`` or ``tare run --out`` wrote.

    Returns
    -------
    Results
        Its trials and samples as data frames: ``tare.open("out").samples()``.

    Raises
    ------
    tare.errors.StoreError
        If the folder holds no experiment, or one of another version.
    """
    from tare.experiment.store import load

    return load(folder)


def run(
    command: Command | None = None, *, progress: bool = False, **options: Unpack[RunOptions]
) -> RunResult:
    """Measure how long a command takes, as ``tare run`` does.

    Parameters
    ----------
    command : str or list of str
        A program with its arguments, or one text that is divided into words as a shell would;
        None: an ``application``.
    progress : bool
        Show the progress on standard error; otherwise nothing is printed.
    **options
        Options of the command by their names, with ``_`` for ``-``: ``trials=20``,
        ``budget="30 s"`` or 30.0 (seconds), ``precision="1%"`` or 0.01, ``platform="docker"``.

    Returns
    -------
    RunResult
        Values, median, interval and verdict: times are in seconds.

    Raises
    ------
    tare.errors.TareError
        What happened, and in ``hint`` what to do. If trials were measured all the same, ``result``
        has them.
    """
    from tare.library import run as measure

    return measure(command, progress=progress, **options)


def compare(
    *commands: Command, progress: bool = False, **options: Unpack[CompareOptions]
) -> ComparisonResult:
    """Compare commands with the first one, as ``tare compare`` does.

    Parameters
    ----------
    *commands : str or list of str
        At least two programs with their arguments.
    progress : bool
        Show the progress on standard error; otherwise nothing is printed.
    **options
        Options of the command by their names, with ``_`` for ``-``: ``margin="2%"`` or 0.02,
        ``gate=0.05``, ``trials=20``, ``budget=30.0`` (seconds) or ``"30 s"``.

    Returns
    -------
    ComparisonResult
        A verdict, a ratio and its interval for each command after the first.

    Raises
    ------
    tare.errors.TareError
        What happened, and in ``hint`` what to do. If trials were measured all the same, ``result``
        has them.
    """
    from tare.library import compare as measure

    return measure(*commands, progress=progress, **options)


def audit(
    *files: str | PathLike[str], progress: bool = False, **options: Unpack[AuditOptions]
) -> AuditResult:
    """Check how far results of any tool can be trusted, as ``tare audit`` does.

    Parameters
    ----------
    *files : path
        Files of results in any format that tare reads.
    progress : bool
        Show the progress on standard error; otherwise nothing is printed.
    **options
        Options of the command by their names, with ``_`` for ``-``: ``value="wall_s"``,
        ``compare="program"``, ``precision=0.01``.

    Returns
    -------
    AuditResult
        A verdict on every series, with its reasons, its median and the interval.

    Raises
    ------
    tare.errors.InputError
        If a file cannot be read.
    """
    from tare.library import audit as check

    return check(*files, progress=progress, **options)
