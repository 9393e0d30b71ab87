"""What ``tare compare`` does: options to an experiment, its trials to verdicts."""

from __future__ import annotations

import secrets
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.cli import lines, quantities
from tare.cli.command_line import given, how_to_see, places, workload
from tare.errors import ExperimentError, TrialError, UsageError
from tare.measure.comparison.session import check_complete
from tare.results.verdict import GATE_CODES

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.measure.comparison.session import Execution

#: Metrics of which a larger value is slower, as they are asked for; others end in _ns.
_TIMES = ("wall", "cpu")


@dataclass(frozen=True)
class Asked:
    """Commands to compare.

    Attributes
    ----------
    table : dict
        As an experiment file would have it.
    gate : float or None
        Largest relative difference that passes; None without a gate.
    """

    table: dict[str, Any]
    gate: float | None


def ask(
    commands: Sequence[str],
    *,
    name: Sequence[str] | None,
    metric: Sequence[str] | None,
    margin: str,
    gate: str | None,
    gate_on: str | None,
    baseline: Path | None,
    inputs: int | None,
    trials: int | None,
    min_trials: int | None,
    budget: str | None,
    timeout: str | None,
    seed: int | None,
    platform: str,
    image: str | None,
    size: str,
    workers: int,
    pinning: str,
    network: str | None,
    out: Path | None,
    resume: bool,
    capture: bool,
    fingerprint: bool,
    warmup: int,
    setup: Sequence[str] | None,
    prepare: Sequence[str] | None,
    conclude: Sequence[str] | None,
    cleanup: Sequence[str] | None,
    shell: str | None,
    ignore_failure: str | None,
    directory: Sequence[str] | None,
    bisect: bool,
    context_switches: bool,
    steady: bool,
    input: str | None,
    hosts: int | None,
    serve: Sequence[str] | None,
    grace: str,
) -> Asked:
    """Return the experiment that the options of ``tare compare`` describe.

    ``input`` is a file. All other parameters are options as they are typed.

    Raises
    ------
    ExperimentError
        If an option is wrong, or excludes another.
    """
    from tare.experiment.findings.difference import question
    from tare.render.words import text

    if resume:
        if out is None:
            raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
        from tare.experiment import plan_file
        from tare.experiment.session import folder

        if folder.has_begun(out):
            seed = plan_file.read(out).experiment.seed if seed is None else seed
        elif out.exists():
            folder.check_free(out, resume=True)
        if baseline is not None:
            raise ExperimentError(
                "--resume and --baseline exclude each other: the new session is what is compared",
                "leave --resume out, and choose another --out",
            )
    around = lines.Around(
        setup or (), prepare or (), conclude or (), cleanup or (), shell, ignore_failure,
        directory or (),
    )  # fmt: skip
    measured = lines.typed(commands, around, name or (), (), several=True)
    _check_quotes([line.words for line in measured], platform)
    names = [line.name for line in measured]
    _check_number(names, baseline)
    if gate_on is not None and (gate is None or baseline is not None):
        raise ExperimentError(
            "--gate-on needs --gate, and commands that are measured together",
            "tare compare --gate 3% --gate-on mean 'cmd a' 'cmd b'",
        )
    if gate_on is not None and trials is not None:
        _check_enough(gate_on, trials)
    if bisect and gate is None:
        raise UsageError("--bisect needs --gate, which says what is bad", "--gate 2%")
    first, *others = metric or ["wall"]
    if others and baseline is not None:
        raise ExperimentError("a baseline has one metric", f"--metric {first} alone")
    least = None if gate is None else quantities.share("--gate", gate, 10)
    where = places([platform], workers, pinning, image, size, network, hosts, serve or ())
    table: dict[str, Any] = {
        "experiment": {
            "name": "compare",
            "question": text(
                question(
                    names[1:] or names,
                    names[0] if baseline is None else "the baseline",
                    least,
                    "slower" if first in _TIMES or first.endswith("_ns") else "higher",
                )
            ),
            "metric": [first, *others],
            "margin": margin,
            "warmup": warmup,
            "linger": grace,
            "fingerprint": fingerprint and bool(out or baseline),
            "context_switches": context_switches,
            **({"steady": True} if steady else {}),
            "seed": secrets.randbits(48) if seed is None else seed,
            **given({"inputs": inputs, "budget": budget}),
        },
        "workload": [
            workload(
                line.name,
                line.words,
                platform,
                capture=capture,
                timeout=timeout,
                input=input,
                placeholders=inputs is not None,
                hosts=network is not None,
                options=line.options,
            )
            for line in measured
        ],
        **where,
    }
    if baseline is None:
        table["experiment"] |= {
            "compare": "workload",
            **given({"trials": trials, "min_trials": min_trials, "gate": gate, "gate_on": gate_on}),
            **({} if trials or budget else {"budget": "10 s"}),
        }
    return Asked(table, least)


def check(
    results: Results, execution: Execution, ended: str, failure: TrialError | None, code: int
) -> None:
    """Raise what failed or is missing, after the comparisons were reported.

    Parameters
    ----------
    results : Results
    execution : Execution
    ended : str
        Why the session ended.
    failure : TrialError or None
        What ended it.
    code : int
        Exit code of the gate; 0 without one.

    Raises
    ------
    TrialError
        If the session failed, or every trial of a command did.
    IncompleteError
        If trials are missing.
    """
    from tare.experiment.findings.failures import failures
    from tare.experiment.findings.judgement import failing, failing_trials, lost
    from tare.render.words import text

    if failure is not None:
        raise failure
    hopeless = failing(results, "workload")
    if not hopeless:
        check_complete(results, execution, ended, code)
    # Otherwise the gate has answered for the failed command already.
    elif not lost(results) and code != GATE_CODES["fail"]:
        raise TrialError(
            f"nothing is compared with {hopeless[0]}: "
            + text(failing_trials(results, "workload", hopeless)),
            how_to_see(failures(results)),
        )


def _check_enough(gate_on: str, trials: int) -> None:
    """Refuse fewer pairs than what the gate judges needs for an interval."""
    from tare.experiment.file import kinds
    from tare.statistics.pair_ratios import pairs_needed

    try:
        quantile = kinds.quantile_of(kinds.GATE_ON.read(gate_on))
    except ValueError:
        return  # the file's own message says what is expected
    needed = 0 if quantile == 0.5 else pairs_needed(quantile)
    if trials < needed:
        raise ExperimentError(
            f"a gate on {gate_on} needs {needed} pairs at least, and -n asks for {trials}",
            f"-n {needed}, or more",
        )


def _check_quotes(words: Sequence[Sequence[str]], platform: str) -> None:
    """Refuse the words of one command, which would be taken for several commands."""
    from tare import platforms

    if platforms.own_files(platform) or any(len(some) > 1 for some in words):
        return
    (program, *others) = (some[0] for some in words)
    argument = next((o for o in others if "/" not in o and shutil.which(o) is None), None)
    if argument is not None and shutil.which(program) is not None:
        whole = shlex.quote(shlex.join(word for some in words for word in some))
        raise ExperimentError(
            f"{argument} is no command, and each command is one word: put it in quotes",
            f"tare compare {whole} 'ANOTHER COMMAND'",
        )


def _check_number(names: Sequence[str], baseline: Path | None) -> None:
    if baseline is None and len(names) < 2:
        raise ExperimentError(
            "there is only one command, and nothing to compare it with",
            "tare compare './old' './new'   (each command in quotes)",
        )
    if baseline is not None and len(names) > 1:
        raise ExperimentError(
            f"there are {len(names)} commands, and one is compared with a baseline",
            "leave --baseline out: commands measured together are compared better",
        )
