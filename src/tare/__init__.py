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

if TYPE_CHECKING:
    from os import PathLike

    from tare.experiment.results import Results

__version__ = "0.1.0"


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
