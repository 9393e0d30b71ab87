"""What a foreign format is: how it is recognised, and how it becomes series."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.networks.shaping.trace import Traced
from tare.readers.series import ColumnOptions, Imported
from tare.registry import Description
from tare.results.message import Message

#: Bytes from the beginning of a file that a format is recognised by.
HEAD = 4096
#: Fields of ``ColumnOptions`` that a format of tables reads.
TABLE_OPTIONS = frozenset({"value", "order", "trial", "block", "drop_missing"})


@dataclass(frozen=True)
class Repeat:
    """How the tool that writes a format measures one execution more.

    Attributes
    ----------
    run : str
        Shell command that writes the results of execution number ``$i`` to its own file or folder.
    files : str
        Shell pattern of what ``run`` writes.
    alone : str or None
        Command that measures ``{n}`` executions into ``{file}``, where the tool can.
    file : str
        Proposed name of that file.
    placeholders : tuple of str
        Words of the commands that stand for names that no file of results has.
    """

    run: str
    files: str
    alone: str | None = None
    file: str = ""
    placeholders: tuple[str, ...] = ()

    def executions(self, first: int, last: int, stem: str, file: str) -> str:
        """Return what measures executions ``first`` to ``last``, and audits all of them.

        ``stem``: beginning of the names of their files; ``file``: the one for all of them.
        """
        if self.alone is not None and first == 1:
            return f"{self.alone.format(n=last, file=file)}; tare audit {file}"
        run = self.run.replace("run$i", f"{stem}$i")
        files = self.files.replace("run", stem, 1)
        return f"for i in $(seq {first} {last}); do {run}; done; tare audit {files}"

    def versions(self, first: int, last: int, stem: str, folders: Sequence[str]) -> str:
        """Return what measures two versions alternately, each in its folder."""
        run = self.run.replace("run$i", f"{stem}$i")
        names = [shlex.quote(folder) for folder in folders]
        files = " ".join(f"{name}/{self.files.replace('run', stem, 1)}" for name in names)
        return (
            f'for i in $(seq {first} {last}); do for v in {" ".join(names)}; do (cd "$v" && {run});'
            f" done; done; tare audit --compare folder {files}"
        )


@dataclass(frozen=True)
class Format:
    """The unit of this package: one kind of file that another tool writes.

    Attributes
    ----------
    description : Description
        Name, title (the tool and what it must be told to write it), where the format is defined.
    recognises : callable
        The first ``HEAD`` bytes and the path to whether the file is of this format. At most one
        format may say yes to a file; ``table`` takes what no other wants.
    read : callable
        The path and the columns that were named to what the file holds. Raises ``InputError``
        that names the file and the place (line, row, path inside) where it is wrong.
    repeat : Repeat or None
        How the tool measures further executions; None where that is not known, or tare can
        measure instead.
    traces : callable or None
        The path to bandwidth over time, one trace per direction; None: the format has none.
    options : frozenset of str
        Fields of ``ColumnOptions`` that ``read`` uses. Others are refused, except ``group`` and
        ``compare``, which name keys of the series.
    executions : Message or None
        Why the values of a file that holds one execution are not executions of their own; None:
        the file identifies executions, or the options do.
    is_of_commands : bool
        Whether what was measured may be a command, which tare can measure.
    """

    description: Description
    recognises: Callable[[bytes, Path], bool]
    read: Callable[[Path, ColumnOptions], Imported]
    repeat: Repeat | None = None
    traces: Callable[[Path], list[Traced]] | None = None
    options: frozenset[str] = frozenset()
    executions: Message | None = None
    is_of_commands: bool = True
