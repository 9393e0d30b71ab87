"""What ``tare compare`` does: options to an experiment, its trials to verdicts."""

from __future__ import annotations

import secrets
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tare.cli import lines, quantities
from tare.cli.command_line import given, places, workload
from tare.errors import ExperimentError, UsageError

if TYPE_CHECKING:
    pass

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


def ask(commands: Sequence[str], options: Mapping[str, Any]) -> Asked:
    """Return the experiment that the options of ``tare compare`` describe.

    Parameters
    ----------
    commands : sequence of str
        What is compared, the reference first.
    options : mapping
        Options as they are typed by their names; ``input`` is a file.

    Raises
    ------
    ExperimentError
        If an option is wrong, or excludes another.
    """
    from tare.experiment.findings.difference import question
    from tare.render.words import text

    typed = SimpleNamespace(**options)
    if typed.resume:
        if typed.out is None:
            raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
        from tare.experiment import plan_file
        from tare.experiment.session import folder

        if folder.has_begun(typed.out):
            if typed.seed is None:
                typed.seed = plan_file.read(typed.out).experiment.seed
        elif typed.out.exists():
            folder.check_free(typed.out, resume=True)
        if typed.baseline is not None:
            raise ExperimentError(
                "--resume and --baseline exclude each other: the new session is what is compared",
                "leave --resume out, and choose another --out",
            )
    around = lines.Around(
        typed.setup or (), typed.prepare or (), typed.conclude or (), typed.cleanup or (),
        typed.shell, typed.ignore_failure, typed.directory or (),
    )  # fmt: skip
    measured = lines.typed(commands, around, typed.name or (), (), several=True)
    _check_quotes([line.words for line in measured], typed.platform)
    names = [line.name for line in measured]
    _check_number(names, typed.baseline)
    if typed.gate_on is not None and (typed.gate is None or typed.baseline is not None):
        raise ExperimentError(
            "--gate-on needs --gate, and commands that are measured together",
            "tare compare --gate 3% --gate-on mean 'cmd a' 'cmd b'",
        )
    if typed.gate_on is not None and typed.trials is not None:
        _check_enough(typed.gate_on, typed.trials)
    if typed.bisect and typed.gate is None:
        raise UsageError("--bisect needs --gate, which says what is bad", "--gate 2%")
    first, *others = typed.metric or ["wall"]
    if others and typed.baseline is not None:
        raise ExperimentError("a baseline has one metric", f"--metric {first} alone")
    least = None if typed.gate is None else quantities.share("--gate", typed.gate, 10)
    where = places([typed.platform], typed)
    table: dict[str, Any] = {
        "experiment": {
            "name": "compare",
            "question": text(
                question(
                    names[1:] or names,
                    names[0] if typed.baseline is None else "the baseline",
                    least,
                    "slower" if first in _TIMES or first.endswith("_ns") else "higher",
                )
            ),
            "metric": [first, *others],
            "margin": typed.margin,
            "warmup": typed.warmup,
            "linger": typed.grace,
            "fingerprint": typed.fingerprint and bool(typed.out or typed.baseline),
            "context_switches": typed.context_switches,
            **({"steady": True} if typed.steady else {}),
            "seed": secrets.randbits(48) if typed.seed is None else typed.seed,
            **given({"inputs": typed.inputs, "budget": typed.budget}),
        },
        "workload": [
            workload(
                line.name,
                line.words,
                typed.platform,
                capture=typed.capture,
                timeout=typed.timeout,
                input=typed.input,
                placeholders=typed.inputs is not None,
                hosts=typed.network is not None,
                options=line.options,
            )
            for line in measured
        ],
        **where,
    }
    if typed.baseline is None:
        table["experiment"] |= {
            "compare": "workload",
            **given({name: options[name] for name in ("trials", "min_trials", "gate", "gate_on")}),
            **({} if typed.trials or typed.budget else {"budget": "10 s"}),
        }
    return Asked(table, least)


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
