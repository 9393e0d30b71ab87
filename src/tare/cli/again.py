"""The command that was typed, with a change: what to type next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence

#: Options with a file that holds the answer: that of another question would replace it, or mix in.
FILES = ("--json", "--save", "--report", "--markdown", "--junit", "--export-json")
#: Short names of options that a change replaces.
_SHORT = {"--out": "-o", "--platform": "-p", "--trials": "-n"}


def again(command: str, changes: Mapping[str, str | None], without: Sequence[str] = ()) -> str:
    """Return the command line that was typed, with other values of some options.

    Parameters
    ----------
    command : str
        That was typed.
    changes : mapping
        Long options to their values; None: it has none.
    without : sequence of str
        Long options that are left out, with their values.
    """
    typed = sys.argv[2:]
    own = typed.index("--") if "--" in typed else len(typed)
    kept = typed[:own]
    for option, value in (*changes.items(), *((one, "") for one in without)):
        kept = [*_without(kept, option, has_value=value is not None)]
    added = [one for change in changes.items() for one in change if one is not None]
    return shlex.join(["tare", command, *kept, *added, *typed[own:]])


def _without(words: Sequence[str], option: str, *, has_value: bool) -> Iterator[str]:
    names = (option, _SHORT.get(option, option))
    rest = iter(words)
    for word in rest:
        if word in names:
            if has_value:
                next(rest, None)
        elif not word.startswith(f"{option}="):
            yield word
