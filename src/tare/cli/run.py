"""``tare run``: one command, on any platform stack."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import output, where
from tare.cli.command_line import (
    COMMAND_LINE,
    as_option,
    factors,
    folder_in_memory,
    how_to_see,
    metric_name,
    spent_s,
    workload,
)
from tare.cli.command_line import network as of_network
from tare.errors import ExperimentError, IncompleteError, TerminatedError, TrialError

if TYPE_CHECKING:
    from tare.cli.summary import Summary
    from tare.conclude import Prepared
    from tare.experiment import Experiment


def run(
    command: Annotated[
        list[str], typer.Argument(help="Command to measure, after `--`.", metavar="-- COMMAND…")
    ],
    platform: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            "-p",
            help="Where: a stack of layers, outside-in; several: one table.  [default: bare]",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-n", min=1, help="A fixed number, decided beforehand."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Stop when the median is known this well.  [default: 2%]"),
    ] = None,
    quantile: Annotated[
        str, typer.Option(help="The quantile to know that well, such as p95.")
    ] = "median",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="What to know that well: wall, cpu, memory …; may be repeated.  [default: wall]"
        ),
    ] = None,
    anytime: Annotated[
        bool,
        typer.Option(
            "--anytime", help="Stop by a confidence sequence; for exchangeable trials only."
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(help="Answer within this.  [default: 10 s; with -n: no limit]"),
    ] = None,
    warmup: Annotated[
        int, typer.Option(min=0, help="Unmeasured executions before each measured one.")
    ] = 0,
    workers: where.Workers = 1,
    instances: where.Instances = "own",
    size: where.Size = "all",
    pinning: where.Pinning = "none",
    network: where.Network = None,
    hosts: where.Hosts = 2,
    serve: where.Serve = None,
    timeout: Annotated[
        str | None, typer.Option(help="Kill an execution that takes longer.")
    ] = None,
    linger: Annotated[str, typer.Option(help="How long children may outlive the command.")] = "1 s",
    input: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="Standard input.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image for a docker layer.")] = None,
    capture: Annotated[
        bool,
        typer.Option(
            "--capture", help="Keep what it prints, up to 1 MiB a stream, in --out DIR/output."
        ),
    ] = False,
    as_root: Annotated[
        bool, typer.Option("--as-root", help="Under sudo: run the command as root, not as you.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Keep journal and output here."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Add a session to the one in --out DIR.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Add the session to this file, for tare compare --baseline FILE."
        ),
    ] = None,
    fingerprint: Annotated[
        bool,
        typer.Option(
            help="Where results are kept, probe the machine before and after the trials: for 5 s, "
            "at most 20 s where it is busy."
        ),
    ] = True,
    network_fingerprint: where.NetworkFingerprint = None,
    json: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE", help="Trials, summary, facts; `-`: standard output."
        ),
    ] = None,
) -> None:
    """Measure one command: how long it takes, and how far that can be trusted.

    Example: tare run -- sleep 0.1
    """
    from tare import conclude, experiment_file
    from tare.catalogue import catalogue
    from tare.cli import run_platforms
    from tare.cli.comparing import Execution, Wanted
    from tare.cli.summary import show, summarize
    from tare.platforms import own_files

    output.check_writable(json, save)
    known = catalogue()
    earlier = _so_far(out) if resume else 0
    platforms = platform or ["bare"]
    # Words of a command are taken as for the platform that has the fewest files of this machine.
    main = next((one for one in platforms if own_files(one)), platforms[0])
    places = factors(platforms, workers, pinning, image, size)
    small = of_network(network, hosts, serve or [])
    places["factors"] |= small.pop("factors", {})
    table = {
        "experiment": {
            "name": "run",
            "question": f"How long does {' '.join(command)} take?",
            "warmup": warmup,
            "instances": instances,
            "linger": linger,
            "quantile": quantile,
            "anytime": anytime,
            "fingerprint": fingerprint and bool(out or save),
            # A fixed n is that of this session.
            **({"trials": trials + earlier} if trials else {"budget": "10 s"}),
            **({"precision": precision} if precision else {}),
            **({"budget": budget} if budget else {}),
            **({"metric": [metric_name(m, known.metrics) for m in metric]} if metric else {}),
        },
        "workload": [
            workload(
                Path(command[0]).name or "command", command, main,
                capture=capture, timeout=timeout, input=input, hosts=network is not None,
            )
        ],
        **places,
        **small,
    }  # fmt: skip
    if len(platforms) > 1:
        refused = {
            "--save": save, "--anytime": anytime, "--quantile": quantile != "median",
            "--precision": precision,
        }  # fmt: skip
        run_platforms.check(platforms, {option: bool(given) for option, given in refused.items()})
        execution = Execution(resume, as_root, capture, out is not None, network_fingerprint)
        wanted = Wanted(None, out, None, json, None, None)
        raise typer.Exit(run_platforms.run_platforms(table, platforms, execution, wanted))
    try:
        asked = experiment_file.from_table(table, COMMAND_LINE, known)
    except ExperimentError as error:
        raise ExperimentError(as_option(error.message), error.hint) from error
    prepared = conclude.check(asked, network=network_fingerprint)
    with ExitStack() as stack:
        folder = out or stack.enter_context(folder_in_memory())
        ended, failure = _measure(prepared, folder, resume=resume, as_root=as_root)
        summary = summarize(folder, ended)
        if summary.by_hand and not summary.good:
            raise KeyboardInterrupt
        if json != "-":
            show(summary, out, main)
        if json is not None:
            output.write_json(summary.as_json(), json)
        if failure is not None:
            said = summary.evidence()
            if said:
                output.err.print(said)
            raise TrialError(failure.message, _hint(command, capture, failure.message))
        if save is not None:
            _save(folder, save, prepared.experiment)
        if summary.short is not None:
            raise IncompleteError(summary.short, _more(summary, out))
        conclude.check_same(summary.caveats, summary.levels_of, out)


def _measure(
    prepared: Prepared, folder: Path, *, resume: bool, as_root: bool
) -> tuple[str, TrialError | None]:
    """Measure a session; return why it ended, and what failed, which is a result, too."""
    from tare import conclude, plan
    from tare.cli.by_hand import enter_interrupts
    from tare.cli.run_progress import RunBar

    asked = prepared.experiment
    try:
        with RunBar(plan.metric(asked), asked.stopping) as bar, enter_interrupts():
            ended = conclude.execute(
                prepared,
                folder,
                bar,
                resume=resume,
                as_root=as_root,
                teardown=True,
                spent_s=spent_s(),
            )
    except TrialError as error:
        return "failed", error
    except TerminatedError:
        raise
    except KeyboardInterrupt:
        return "interrupted", None
    return ended, None


def _more(summary: Summary, out: Path | None) -> str:
    """Return what gets the trials that were asked for."""
    if out:
        return "the same command with --resume   (measures more)"
    if len(summary.good) < len(summary.trials):
        return "--capture shows what a command that failed said"
    return "the same command again" if summary.by_hand else "a longer --budget"


def _save(folder: Path, file: Path, experiment: Experiment) -> None:
    """Add what was measured to a baseline, and say how many sessions it has."""
    from tare import baseline, plan, store
    from tare.statistics.sessions import FEWEST_SESSIONS

    whole = baseline.save(file, baseline.of(store.load(folder), plan.metric(experiment)))
    n = len(whole.sessions)
    wanting = FEWEST_SESSIONS - n
    more = f"; a comparison with it needs {wanting} more" if wanting > 0 else ""
    output.err.print(f"Saved   {file} has {n} session{'s' * (n != 1)}{more}")


def _so_far(folder: Path | None) -> int:
    """Count the good trials that a folder to go on with has."""
    from tare import journal
    from tare.execute.past import past

    if folder is None:
        raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
    return max(past(journal.read_all(folder)).good.values(), default=0)


def _hint(command: list[str], capture: bool, why: str) -> str | None:
    if len(command) == 1 and set(" |;&<>$") & set(command[0]):
        return f"a line for the shell needs a shell: tare run -- sh -c '{command[0]}'"
    if why.startswith("the server ") or ": the server " in why:
        return "--serve: a command that stays until it is ended"
    return how_to_see(why, capture)
