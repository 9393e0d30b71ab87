"""Commands and groups of them: their help, and the files that they are to write."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tare.cli import again, bisect, console, delivery, failed, limits
from tare.cli.help import help_of_command, help_of_group, usage
from tare.errors import StoreError, UsageError
from tare.host import numpy_loading
from tare.results.report import Report

#: Of a command line that is wrong; typer has it from a copy of click.
_ClickUsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")
#: Options of one value that read as if they could be repeated, as --platform can: factors of an
#: experiment.
_FACTORS = ("network", "pinning", "size", "workers")
#: Commands that compute nothing.
_WITHOUT_NUMPY = frozenset({"cleanup"})
_REPORTS = "--report FILE.json, then: tare report FILE.json --report FILE.html"


class Context(TyperCommand.context_class):  # type: ignore[misc, valid-type]
    """A context whose standard command has no name of its own."""

    @property
    def command_path(self) -> str:
        """What was typed, up to the command."""
        return " ".join(str(super().command_path).split())


class Command(TyperCommand):
    """A command with its options in groups."""

    context_class = Context

    @property
    def values(self) -> dict[str, int]:
        """How many words follow each option as its values."""
        return {
            name: 0 if getattr(one, "is_flag", False) or getattr(one, "count", False) else one.nargs
            for one in self.params
            if one.param_type_name == "option"
            for name in (*one.opts, *one.secondary_opts)
        }

    @property
    def names(self) -> dict[str, frozenset[str]]:
        """Each name of an option, to all of them."""
        options = [one for one in self.params if one.param_type_name == "option"]
        all_names = [frozenset((*one.opts, *one.secondary_opts)) for one in options]
        return {name: some for some in all_names for name in some}

    def get_usage(self, ctx: Any) -> str:
        """Return the line that an error begins with."""
        return usage(ctx, self)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with NumPy loaded before anything else loads it; deliver its report.

        Returns
        -------
        int
            The exit code.
        """
        if self.name not in _WITHOUT_NUMPY:
            numpy_loading.load()
        try:
            made = super().invoke(ctx)
        except BaseException as error:
            found = delivery.reported(error)
            if found is not None:
                report = delivery.failed(found.report, error)
                try:
                    delivery.deliver(found._replace(report=report), ctx.params)
                except (StoreError, OSError) as unwritten:
                    # What ended the command matters more than a file that cannot be written.
                    console.err.print(f"Note: {unwritten}", soft_wrap=True)
            raise
        if isinstance(made, Report | delivery.Delivered):
            return delivery.deliver(made, ctx.params)
        return made

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option twice where several values look possible: the first would be lost.

        And an option where the value of another one is to be.
        """
        try:
            if not ctx.resilient_parsing:
                self._check(*self.make_parser(ctx).parse_args(args=list(args)))
            return super().parse_args(ctx, args)
        except _ClickUsageError as error:
            # The parser does not know whose option has no value.
            error.ctx = error.ctx or ctx
            raise

    def _check(self, values: Mapping[str, Any], _: Any, given: Sequence[Any]) -> None:
        names = {name for option in self.params for name in option.opts if name.startswith("--")}
        for option, n in Counter(given).items():
            told = max(option.opts, key=len)
            if n > 1 and option.name in (*_FACTORS, "report") and not option.multiple:
                hint = _REPORTS if option.name == "report" else _as_factor(option.name, values)
                raise UsageError(f"{told} is given {n} times, and takes one value", hint)
            value = values.get(str(option.name))
            if option.param_type_name == "option" and any(
                one in names for one in (value if isinstance(value, list) else [value])
            ):
                raise UsageError(f"{told} has no value", f"{told} {option.metavar}")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; after the standard command of a group, the others of the group."""
        group: Any = ctx.parent and ctx.parent.command
        standard = getattr(group, "standard", None) == self.name
        others = [one for one in group.commands.values() if one is not self] if standard else []
        formatter.write(help_of_command(ctx, self, others))


def _as_factor(name: str, values: Mapping[str, Any]) -> str:
    """Return what to type for several levels of a factor, whatever is measured."""
    application = values.get("application")
    words = ["tare", "experiment", "new", "mine.toml"]
    words += [] if application is None else ["--application", application]
    return f"give one; or all of them: {shlex.join(words)}   (a list of {name} under [factors])"


class Group(TyperGroup):
    """Commands whose output files are known before their options are checked."""

    context_class = Context
    #: The command that words which are none are options and arguments of.
    standard: str | None = None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_of_group(ctx, self))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the standard command before words that name none."""
        if self.standard is not None and not (args and args[0] in self.commands):
            args = [self.standard, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is meant, and remember which files it is to write."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            # An option that does not exist is complained of later, and ends up in these files.
            lenient = command.make_context(
                name, list(rest), parent=ctx, resilient_parsing=True,
                ignore_unknown_options=True, allow_extra_args=True,
            )  # fmt: skip
            bisect.remember(lenient.params)
            failed.remember(lenient.params, lenient.command_path.partition(" ")[2])
            if isinstance(command, Command):
                again.remember(again.Options(command.values, command.names))
            if not isinstance(command, TyperGroup):
                limits.check(str(command.name))
        return ("" if name == self.standard else name), command, rest


class Commands(typer.Typer):
    """What the functions of commands are registered with."""

    def __init__(self, *, cls: type[Group] = Group, **settings: Any) -> None:
        super().__init__(cls=cls, **settings)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = Command, **settings: Any
    ) -> Callable[[Any], Any]:
        """Register a command with this form of help."""
        return super().command(name, cls=cls, **settings)
