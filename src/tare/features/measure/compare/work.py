"""What ``tare compare`` does: options to an experiment, its trials to verdicts."""

from __future__ import annotations

import secrets
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.cli import lines
from tare.cli.command_line import places, workload
from tare.errors import ExperimentError, Typed, UsageError

if TYPE_CHECKING:
    from tare.features.measure.compare.options import CompareOptions

#: Metrics of which a larger value is slower, as they are asked for; others end in _ns.
_TIMES = ("wall", "cpu")


def ask(given: CompareOptions) -> dict[str, Any]:
    """Return the experiment that the options of ``tare compare`` describe, as a file has it.

    Its ``input`` is a file.

    Raises
    ------
    ExperimentError
        If an option is wrong, or excludes another.
    """
    from tare.experiment.findings.difference import question
    from tare.render.words import text

    seed = _seed(given)
    around = lines.Around.of(given, given.directory)
    measured = lines.typed(given.commands, around, given.name, (), several=True)
    _check_quotes([line.words for line in measured], given.platform)
    names = [line.name for line in measured]
    _check_number(names, given.baseline)
    if given.gate_on is not None and (given.gate is None or given.baseline is not None):
        raise ExperimentError(
            "--gate-on needs --gate, and commands that are measured together",
            Typed("--gate 3%") if given.baseline is None else "leave --gate-on or --baseline out",
        )
    if given.gate_on is not None and given.trials is not None:
        _check_enough(given.gate_on, given.trials)
    if given.bisect and given.gate is None:
        raise UsageError("--bisect needs --gate, which says what is bad", Typed("--gate 2%"))
    first, *others = given.metric or ["wall"]
    if others and given.baseline is not None:
        raise ExperimentError(
            "a baseline has one metric", Typed(f"--metric {shlex.quote(str(first))}")
        )
    where = places([given.platform], given)
    stopping = given.keys("stopping")
    if given.baseline is None:
        stopping |= {"compare": "workload"}
        if not given.trials and not given.budget:
            stopping |= {"budget": "10 s"}
    else:
        stopping = {key: value for key, value in stopping.items() if key == "budget"}
    return {
        "experiment": {
            "name": "compare",
            "question": text(
                question(
                    names[1:] or names,
                    names[0] if given.baseline is None else "the baseline",
                    given.gate,
                    "slower" if first in _TIMES or first.endswith("_ns") else "higher",
                    given.gate_on,
                )
            ),
            **stopping,
            **given.keys("experiment"),
            "metric": [first, *others],
            "fingerprint": given.fingerprint and bool(given.out or given.baseline),
            "seed": secrets.randbits(48) if seed is None else seed,
        },
        "workload": [
            workload(
                line.name,
                line.words,
                given.platform,
                input=given.input,
                placeholders=given.inputs is not None,
                hosts=given.network is not None,
                keys={**given.keys("workload"), **given.keys("command"), **line.options},
            )
            for line in measured
        ],
        **where,
    }


def _seed(given: CompareOptions) -> int | None:
    """Return the seed that was asked for, or that of the folder that is gone on with."""
    if not given.resume:
        return given.seed
    if given.out is None:
        raise ExperimentError(
            "--resume goes on with what a folder holds", "name the folder with --out"
        )
    from tare.experiment import plan_file
    from tare.experiment.session import folder

    seed = given.seed
    if folder.has_begun(given.out):
        if seed is None:
            seed = plan_file.read(given.out).experiment.seed
    elif given.out.exists():
        folder.check_free(given.out, resume=True)
    if given.baseline is not None:
        raise ExperimentError(
            "--resume and --baseline exclude each other: the new session is what is compared",
            "leave --resume out, and choose another --out",
        )
    return seed


def _check_enough(gate_on: str, trials: int) -> None:
    """Refuse fewer pairs than what the gate judges needs for an interval."""
    from tare.options import kinds
    from tare.statistics.pair_ratios import pairs_needed

    quantile = kinds.quantile_of(gate_on)
    needed = 0 if quantile == 0.5 else pairs_needed(quantile)
    if trials < needed:
        raise ExperimentError(
            f"a gate on {gate_on} needs {needed} pairs at least, and --trials asks for {trials}",
            Typed(f"--trials {needed}   (or more)"),
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
            f"put each command in quotes, as in tare compare {whole}",
        )


def _check_number(names: Sequence[str], baseline: Path | None) -> None:
    if baseline is None and len(names) < 2:
        raise ExperimentError(
            "there is only one command, and nothing to compare it with",
            "name two commands or more, each in quotes: tare compare './old' './new'",
        )
    if baseline is not None and len(names) > 1:
        raise ExperimentError(
            f"there are {len(names)} commands, and one is compared with a baseline",
            "leave --baseline out: commands measured together are compared better",
        )
