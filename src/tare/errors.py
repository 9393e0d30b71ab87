"""What can go wrong, as exceptions; the command line alone turns them into exit codes."""

from __future__ import annotations

import shlex


class Typed(str):
    """A hint that can be typed; a hint that is another str is advice in words.

    It is a command line for a shell, or what the command that was typed lacks: options such as
    ``--gate 3%``, or ``sudo`` before it. After three spaces, parentheses may say what that brings:
    ``make setup   (builds the agent)``.
    """

    __slots__ = ()

    @property
    def command(self) -> str:
        """What is typed."""
        return self.partition("   (")[0]

    def replaced(self, command: str) -> Typed:
        """Return the same with another command."""
        return Typed(command + self[len(self.command) :])


def filled(hint: str, **values: str) -> str:
    """Return a hint with values in place of their names in braces."""
    return type(hint)(hint.format(**values))


def room(folder: object) -> Typed:
    """Return the hint where a folder's disk may be full."""
    quoted = shlex.quote(str(folder))
    return Typed(f"df -h {quoted}; df -i {quoted}   (and make room there)")


def in_words(hint: str | None) -> str | None:
    """Return a hint for where no command line is known that it completes: other ones as they are.

    ``sudo   (or use unshare)`` is ``run tare with sudo (or use unshare)``.
    """
    if not isinstance(hint, Typed) or not (hint.command == "sudo" or hint.startswith("-")):
        return hint
    verb = "run tare with" if hint.command == "sudo" else "add"
    return f"{verb} {hint.command}{hint[len(hint.command) :].replace('   ', ' ', 1)}"


def advice(hint: str) -> str:
    """Return a hint as it is printed: after ``try`` what can be typed, after ``hint`` words."""
    said = in_words(hint)
    return f"{'try' if isinstance(said, Typed) else 'hint'}: {said}"


class TareError(Exception):
    """What happened and why, with what to do about it.

    Parameters
    ----------
    message : str
        What happened, and why.
    hint : str, optional
        What to do about it: `Typed` where it can be typed, otherwise in words.
    """

    #: Exit codes start at 10, since 0 to 2 are verdicts.
    exit_code = 10
    #: The result of `tare.run` or `tare.compare` where trials were measured all the same.
    result: object = None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def hint(self) -> str | None:
        """What to do about it; a traceback shows it as a note."""
        return self._hint

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self._hint = hint
        self.__notes__ = [advice(hint)] if hint else []


class ExperimentError(TareError):
    """The question cannot be understood: an experiment file or an option is wrong."""

    exit_code = 11


class UsageError(ExperimentError):
    """An argument or an option is missing, or is not possible."""

    exit_code = 10


class PlatformError(TareError):
    """A platform or a load is missing, or cannot be started."""

    exit_code = 12


class AgentError(TareError):
    """The agent did not start, ended early, or sent what cannot be read."""

    exit_code = 13


class StoreError(TareError):
    """Results cannot be read or written: wrong folder, other version, disk full."""

    exit_code = 14


class TrialError(TareError):
    """Every trial that was asked for failed, or one came to a wrong result.

    Parameters
    ----------
    message, hint : str
    failure_kind : str, optional
        By which trials that failed alike are found, whatever numbers their messages have.
    """

    exit_code = 15

    def __init__(
        self, message: str, hint: str | None = None, failure_kind: str | None = None
    ) -> None:
        super().__init__(message, hint)
        self.failure_kind = failure_kind


class BuildError(TareError):
    """A commit that is to be compared does not build, or does not have the program.

    Parameters
    ----------
    message, hint : str
    of_base : bool
        Whether that is the reference, so that the candidate is not at fault.
    """

    exit_code = 20
    #: Where the reference does not build.
    base_exit_code = 21

    def __init__(self, message: str, hint: str | None = None, *, of_base: bool = False) -> None:
        super().__init__(message, hint)
        if of_base:
            self.exit_code = self.base_exit_code


class CutShortError(TrialError):
    """Somebody ended the trials by hand, and what is to clean up after them failed."""


class InputError(TareError):
    """Values that a statistic cannot take, or a file of another tool that cannot be read."""

    exit_code = 16


class ValuesError(InputError, ValueError):
    """Values that a statistic cannot take: none, not numbers, or of different lengths."""


class FailedRunError(InputError):
    """A file of results records a run that failed, and no value.

    Parameters
    ----------
    message, hint : str
    why : str
        The error that the file records.
    """

    def __init__(self, message: str, hint: str, why: str) -> None:
        super().__init__(message, hint)
        self.why = why


class ChangedError(TareError):
    """The machine changed between or during sessions: all was written, levels are by session."""

    exit_code = 17


class IncompleteError(TareError):
    """Fewer trials were good than were asked for; what was measured is kept and was concluded."""

    exit_code = 18


class ResourceError(TareError):
    """The machine or the shell leaves tare too little: memory, open files, processes."""

    exit_code = 19


class TerminatedError(KeyboardInterrupt):
    """Ended by SIGTERM, SIGHUP or SIGQUIT."""


class InterruptError(TareError):
    """Somebody pressed Ctrl-C; what was measured is kept where it was to be kept."""

    exit_code = 130
