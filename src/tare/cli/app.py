"""Runs the command that was typed: its help, its work, and what becomes of its errors."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Sequence

import msgspec

from tare.cli import again, bisect, console, delivery, failed, limits, terminated
from tare.cli.call import Call
from tare.errors import InterruptError, StoreError, TareError, UsageError, advice
from tare.experiment.supplies import Supplies
from tare.host import numpy_loading
from tare.options import help as helps
from tare.options.command import Command, Group, find
from tare.options.option import Options, named
from tare.options.parsing import divided, parse, pieces
from tare.render.escaping import in_one_item
from tare.results.report import Failure, Report
from tare.version import __version__

#: What a shell expects of a program that was interrupted.
INTERRUPTED = InterruptError.exit_code
#: Usage errors; 0 to 2 are verdicts.
USAGE = UsageError.exit_code
#: What nobody foresaw; Python's own 1 would read as a verdict.
CRASH = 70
#: What a shell tells of a program whose reader has gone.
READER_GONE = 141


def enter(root: Group, supplies: Supplies) -> int:
    """Run the command line and return its exit code."""
    _write_anything()
    failed.forget()
    try:
        code = run(root, supplies, sys.argv[1:])
    except BrokenPipeError:
        # Whoever read the table that was asked for has gone, and wants no more of it.
        sys.stderr.close()
        return READER_GONE
    except SystemExit:
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception
        return _failed(error)
    return bisect.exit_code(code)


def run(root: Group, supplies: Supplies, words: Sequence[str]) -> int:
    """Run what was typed, and return its exit code; raises what it raises."""
    path, found, used = find(root, words)
    rest = words[used:]
    if isinstance(found, Group):
        return _without_command(path, found, rest)
    known = found.names
    before, _ = divided(rest, known)
    # A wrong option is complained of later, and ends up in these files.
    typed = {p.option.name: "".join((p.values or ())[-1:]) for p in before if p.option is not None}
    bisect.remember(typed)
    failed.remember(typed, path.partition(" ")[2])
    again.remember(known, path.split(), rest)
    if not found.is_small:
        limits.check()
    if any(piece.name in ("-h", "--help") for piece in before):
        console.print_text(helps.of_command(path, found))
        return 0
    with again.completing():
        given = parse(path, found.options, rest)
    console.is_quiet = getattr(given, "quiet", False)
    return invoke(found, given, Call(supplies, path.partition(" ")[2]))


def invoke(command: Command, given: Options, call: Call) -> int:
    """Run a command, with NumPy loaded before anything else loads it; deliver its report.

    Returns
    -------
    int
        The exit code.
    """
    if command.needs_numpy:
        numpy_loading.load()
    try:
        with again.completing():
            made = command.work(given, call)
    except BaseException as error:
        found = delivery.reported(error)
        if found is not None:
            report = delivery.failed(found.report, error)
            try:
                delivery.deliver(found._replace(report=report), vars(given))
            except (StoreError, OSError) as unwritten:
                # What ended the command matters more than a file that cannot be written.
                console.err.print(f"Note: {unwritten}", soft_wrap=True)
        raise
    if isinstance(made, Report | delivery.Delivered):
        return delivery.deliver(made, vars(given))
    return int(made or 0)


def _without_command(path: str, group: Group, words: Sequence[str]) -> int:
    """Do what a group does by itself: its help, or its own options."""
    known = named(group.options)
    if any(piece.name in ("-h", "--help") for piece in pieces(words, known)):
        console.print_text(helps.of_group(path, group))
        return 0
    given = parse(path, group.options, words)
    if not given.given:
        print(helps.of_group(path, group), end="", file=sys.stderr)
        return USAGE
    if "version" in given.given:
        print(f"tare {__version__}")
        return 0
    from tare.cli import completion

    return completion.install() if "install_completion" in given.given else completion.show()


def _failed(error: BaseException) -> int:
    """Say why a command failed, wherever its answer was to be; return the exit code."""
    with terminated.held_off():
        failure = _told(error)
        if failure.exit_code == INTERRUPTED:
            failure = msgspec.structs.replace(failure, exit_code=terminated.exit_code())
        failed.write(failure)
    return bisect.exit_code(failure.exit_code)


def _told(error: BaseException) -> Failure:
    """Say on standard error why a command failed."""
    if isinstance(error, KeyboardInterrupt):
        print("tare: interrupted", file=sys.stderr)
        return Failure(InterruptError.__name__, INTERRUPTED, "interrupted")
    told = error if isinstance(error, TareError) else limits.foreseen(error)
    if told is None:
        traceback.print_exception(error)
        message = "this is a fault of tare's own; please report it"
        print(f"tare: {message}", file=sys.stderr)
        return Failure("Fault", CRASH, f"{type(error).__name__}: {error}", message)
    # A value that is none may be that of an option of the measured command.
    own = isinstance(told, UsageError) and again.measures_options()
    hint = again.separated() if own else told.hint
    print(f"tare: {in_one_item(told.message)}", file=sys.stderr)
    if hint:
        print(f"  {in_one_item(advice(hint))}", file=sys.stderr)
    return Failure(type(told).__name__, told.exit_code, told.message, hint)


def _write_anything() -> None:
    """Let a terminal that cannot write a sign show a question mark for it; words say the same."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
