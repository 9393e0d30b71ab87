"""The commands, and what becomes of their errors."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated, Any

import msgspec
import typer

from tare.cli import again, bisect, failed, limits, terminated
from tare.cli.commands import Commands
from tare.cli.lines import HYPERFINE
from tare.errors import InterruptError, TareError, UsageError
from tare.experiment.supplies import Supplies
from tare.render.escaping import in_one_item
from tare.results.report import Failure
from tare.version import __version__

#: What a shell expects of a program that was interrupted.
INTERRUPTED = InterruptError.exit_code
#: What all usage errors derive from; typer has had it from click and from a copy of its own.
_ClickError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
#: Usage errors; 0 to 2 are verdicts.
USAGE = 10
#: What nobody foresaw; Python's own 1 would read as a verdict.
CRASH = 70
#: What a shell tells of a program whose reader has gone.
READER_GONE = 141

_HELP = """Measure performance in controlled experiments.

        tare run -- sleep 0.1
        tare compare 'sleep 0.1' 'sleep 0.103'
    """


def build(supplies: Supplies) -> Commands:
    """Return the command line without commands; each gets what it is handed as ``ctx.obj``."""
    app = Commands(
        name="tare",
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def _root(
        ctx: typer.Context,
        version: Annotated[
            bool,
            typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
        ] = False,
    ) -> None:
        ctx.obj = supplies

    return app


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tare {__version__}")
        raise typer.Exit


def enter(app: Commands) -> int:
    """Run the command line and return its exit code."""
    _write_anything()
    failed.forget()
    try:
        # However it was called, such as by python -m tare.
        code = app(standalone_mode=False, prog_name="tare")
    except BrokenPipeError:
        # Whoever read the table that was asked for has gone, and wants no more of it.
        sys.stderr.close()
        return READER_GONE
    except SystemExit:
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception
        return _failed(error)
    if code != INTERRUPTED:
        return bisect.exit_code(code if isinstance(code, int) else 0)
    # Typer makes of an interrupt a code, without a word.
    return _failed(KeyboardInterrupt())


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
    if isinstance(error, _ClickError):
        error.show()
        hint = _meant(error) or again.separated()
        if hint:
            print(f"  try: {in_one_item(hint)}", file=sys.stderr)
        return Failure("Usage", USAGE, error.format_message(), hint)
    if isinstance(error, (typer.Abort, KeyboardInterrupt)):
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
        print(f"  try: {in_one_item(hint)}", file=sys.stderr)
    return Failure(type(told).__name__, told.exit_code, told.message, hint)


def _meant(error: Any) -> str | None:
    """Return what to type for an option without its value, or for one that hyperfine has."""
    option = str(getattr(error, "option_name", ""))
    params = getattr(getattr(getattr(error, "ctx", None), "command", None), "params", ())
    for one in params:
        if option in one.opts and one.param_type_name == "option" and not one.is_flag:
            return f"{option} {one.metavar}"
    # Behind a program an option may be the program's own.
    return None if again.measures_options() else HYPERFINE.get(option)


def _write_anything() -> None:
    """Let a terminal that cannot write a sign show a question mark for it; words say the same."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
