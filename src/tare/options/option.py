"""What is known of an option: of its record the parser, help, documents and completion are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

from tare.errors import Typed
from tare.options.kinds import FLAG, Kind

#: Headings of the help, in their order.
WHAT, COLUMNS, HOW_MANY, WHERE, OUTPUT = GROUPS = (
    "What", "Columns", "How many", "Where", "Output",
)  # fmt: skip


@dataclass(frozen=True)
class Key:
    """One key of a table in a file.

    Attributes
    ----------
    name : str
    kind : Kind
    meaning : str
        For the reference.
    field : str or None
        Field of the struct that it sets; None: as the key.
    required : bool
    """

    name: str
    kind: Kind
    meaning: str
    field: str | None = None
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option or argument of a command.

    Attributes
    ----------
    kind : Kind
        Of its value, or of each of its values.
    help : str
        Its line in the help.
    group : str
        Heading above it in the help.
    short : str
        Its other name, such as ``-n``.
    metavar : str
        Placeholder of its value; empty: that of its kind.
    default : object
        Value where it is not given.
    shown : str
        The default as the help shows it, where that is not ``default``.
    once : str
        What to type where several values were meant; empty: the option with one.
    repeatable : bool
        Whether its value is a list, of as many values as it was given.
    rare : bool
        Whether the help has its name alone.
    words : int
        Words that follow as its value; of several words the value is a tuple.
    more : str
        Pattern of further words that are values of a repeatable one where they follow its first.
    bare : str or None
        Value where none is attached with ``=``; None: the next word is the value.
    spellings : mapping
        Other names, each with the value that it stands for.
    is_argument : bool
        Whether it has no name on the command line.
    is_required : bool
        Of an argument: whether there must be one.
    after_dashes : bool
        Of an argument: whether it takes what follows ``--``, and nothing before it.
    before_dashes : str
        Of an argument: the option that words before ``--`` are meant as, which are refused; empty:
        they are part of it.
    otherwise : str
        Of a number: the option that a word is meant for, as hyperfine's ``-n`` is a name.
    table, key : str
        Where an experiment file has it; an empty key: nowhere.
    file_kind : Kind or None
        Of the key of a file; None: as ``kind``.
    field : str or None
        Field of the specification that it sets; None: as the key.
    meaning : str
        For the reference of the file; empty: as the help.
    name : str
        Attribute of the values; set by the class of options.
    """

    kind: Kind
    help: str
    group: str = ""
    short: str = ""
    metavar: str = ""
    default: Any = None
    shown: str = ""
    once: str = ""
    repeatable: bool = False
    rare: bool = False
    words: int = 1
    more: str = ""
    bare: str | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    is_argument: bool = False
    is_required: bool = False
    after_dashes: bool = False
    before_dashes: str = ""
    otherwise: str = ""
    table: str = ""
    key: str = ""
    file_kind: Kind | None = None
    field: str | None = None
    meaning: str = ""
    name: str = ""

    @property
    def is_flag(self) -> bool:
        """Whether no value follows it."""
        return self.kind is FLAG

    @property
    def long(self) -> str:
        """The long name."""
        return f"--{self.name.rstrip('_').replace('_', '-')}"

    @property
    def negative(self) -> str:
        """The long name of a switch that turns it off."""
        return f"--no-{self.long[2:]}"

    @property
    def all_names(self) -> tuple[str, ...]:
        """Everything by which it can be typed."""
        off = (self.negative,) if self.is_flag and self.default else ()
        return tuple(n for n in (self.long, self.short, *self.spellings, *off) if n)

    @property
    def names(self) -> tuple[str, ...]:
        """What the help calls it, short names first; of a switch the one that changes it."""
        long = self.negative if self.is_flag and self.default else self.long
        return tuple(name for name in (self.short, long) if name)

    @property
    def placeholder(self) -> str:
        """What stands for its value."""
        return self.metavar or self.kind.metavar

    @property
    def head(self) -> str:
        """Return it as it is typed."""
        if self.is_argument:
            return self.placeholder
        names = ", ".join(self.names)
        return names if self.is_flag else f"{names} {self.placeholder}"

    @property
    def explanation(self) -> str:
        """What it means, with its default."""
        default = self.shown or ("" if self.default is None or self.is_flag else str(self.default))
        return f"{self.help} [default: {default}]" if default else self.help

    def as_key(self) -> Key:
        """Return what an experiment file knows of it."""
        return Key(self.key, self.file_kind or self.kind, self.meaning or self.help, self.field)


class Parsed(NamedTuple):
    """A parsed value, in a table where a file has one that is still to be parsed."""

    value: Any


def option(kind: Kind, help: str, **more: Any) -> Any:
    """Return the record of an option, as the class attribute whose name it has."""
    return Option(kind=kind, help=help, **more)


def flag(help: str, **more: Any) -> Any:
    """Return the record of a switch, which is off unless it is given."""
    return Option(kind=FLAG, help=help, **{"default": False, **more})


def argument(kind: Kind, metavar: str, help: str, **more: Any) -> Any:
    """Return the record of an argument, as the class attribute whose name it has."""
    return Option(kind=kind, metavar=metavar, help=help, is_argument=True, **more)


def like(record: Any, **changes: Any) -> Any:
    """Return a record that differs from another one's."""
    return replace(record, **changes)


class Options:
    """Values of the options of a command.

    In a class below it, each attribute is the record of an option; in an object, its value.
    """

    records: ClassVar[Mapping[str, Option]] = {}
    #: Options of other commands and tools, to what to do instead; an option takes their place.
    foreign: ClassVar[Mapping[str, str]] = {"--version": Typed("tare --version")}
    #: Names of the attributes that were given.
    given: frozenset[str]

    def __init_subclass__(cls) -> None:
        found: dict[str, Option] = {}
        for one in reversed(cls.__mro__):
            for name, record in vars(one).items():
                if isinstance(record, Option):
                    found[name] = replace(record, name=name)
                elif name in found:
                    # Not of this command.
                    del found[name]
        cls.records = found

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.records.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        for name, record in self.records.items():
            default: Any = () if record.repeatable and record.default is None else record.default
            setattr(self, name, values.get(name, default))
        self.given = frozenset(values)

    def keys(self, table: str) -> dict[str, Any]:
        """Return what was given of a table of an experiment file, by its keys.

        Lists are left out: the command knows which of their values belongs where.
        """
        return {
            record.key: Parsed(getattr(self, name))
            for name, record in self.records.items()
            if record.table == table and name in self.given and not record.repeatable
        }

    def replace(self, **values: Any) -> Self:
        """Return the same with other values of some options."""
        return type(self)(**{name: getattr(self, name) for name in self.given} | values)


def named(options: type[Options]) -> dict[str, Option]:
    """Return the options of a command by each of their names, without arguments."""
    return {
        name: record
        for record in options.records.values()
        if not record.is_argument
        for name in record.all_names
    }
