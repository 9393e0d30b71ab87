"""The same sweep under several settings: its combinations, what became of them, their order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment.specification import Experiment
from tare.experiment.sweep.document import Interval
from tare.render.data import builtins
from tare.statistics.scaling import Verdict

VERSION = 1
#: Name of the file that describes a matrix, in the matrix's folder.
FILE = "matrix.json"
#: More sweeps than anybody waits for.
MOST = 64
#: A file larger than this is none: 64 combinations take a hundredth of it.
_SIZE_LIMIT = 4 << 20
#: Longer than anybody waits for one window of each step.
_LONGEST_S = 1e8
_MAKES_ONE = "make one with tare calibrate --settings"

State = Literal["to do", "measured", "waiting", "left out", "failed"]


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """One value of every setting, and what became of it."""

    settings: dict[str, str]
    #: Folder of the combination's sweep, relative to the matrix's folder.
    folder: str
    state: State = "to do"
    #: Why it is not measured, and what would mend it.
    why: str | None = None
    hint: str | None = None
    #: Kernel parameters that the combination needs at boot; empty: none.
    boot: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The settings in one word: ``governor=performance,turbo=off``."""
        return label(self.settings)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How one combination compares with the others."""

    label: str
    settings: dict[str, str]
    folder: str
    verdict: Verdict
    r2: float | None
    #: Largest relative error of one straight line, and half of the interval of that point.
    largest_error: float | None
    uncertainty: float | None
    #: Whether none is fairer beyond what is uncertain: several are a tie.
    fairest: bool
    #: Most work a second at any step, and as a share of the fastest combination's.
    maximum: Interval
    maximum_share: Interval


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The same sweep under several settings."""

    version: int = VERSION
    #: Requested values of each setting.
    asked: dict[str, tuple[str, ...]]
    experiment: Experiment
    #: About how many seconds one window of each step takes.
    each_s: float
    combinations: tuple[Combination, ...]
    #: Measured combinations, the fairest first.
    standings: tuple[Standing, ...] = ()
    #: Unit of work that ``rate`` counts, such as GFLOP.
    work: str | None = None
    #: One to three sentences: which is the fairest, and what it costs.
    answer: str | None = None


def label(settings: Mapping[str, str]) -> str:
    """Return settings in one word, which is also the name of a folder."""
    return ",".join(f"{name}={value}" for name, value in settings.items()).replace("/", "_")


def asked(words: Sequence[str], known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read ``governor=powersave,performance turbo=on,off``.

    Parameters
    ----------
    words : sequence of str
        Each one or several settings with their values.
    known : sequence of str
        The settings that there are.

    Raises
    ------
    ExperimentError
        If one is unknown, has no value, or is named twice, or there are too many combinations.
    """
    found: dict[str, tuple[str, ...]] = {}
    for word in " ".join(words).split():
        name, _, values = word.partition("=")
        chosen = tuple(dict.fromkeys(filter(None, values.split(","))))
        if name not in known:
            raise ExperimentError(f"there is no setting {name!r}", _meant(name, known))
        if not chosen:
            raise ExperimentError(
                f"--settings: {name} is to have values",
                f"write its values, as in {name}=VALUE,VALUE",
            )
        if name in found:
            raise ExperimentError(
                f"--settings names {name} twice",
                Typed(f"--settings {name}={','.join(dict.fromkeys(found[name] + chosen))}"),
            )
        found[name] = chosen
    if not found:
        raise ExperimentError(
            "--settings names nothing", Typed("--settings governor=powersave,performance")
        )
    count = math.prod(len(values) for values in found.values())
    if count > MOST:
        raise ExperimentError(
            f"--settings asks for {count} sweeps, more than {MOST}", "fewer values at a time"
        )
    return found


def _meant(name: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}"


def combinations(values: Mapping[str, tuple[str, ...]]) -> tuple[Combination, ...]:
    """Cross every value of every setting."""
    crossed = itertools.product(*values.values())
    settings = [dict(zip(values, some, strict=True)) for some in crossed]
    return tuple(Combination(settings=one, folder=label(one)) for one in settings)


def write(matrix: Matrix, folder: Path) -> None:
    """Keep what is known in the folder of all combinations."""
    data = msgspec.json.format(msgspec.json.encode(builtins(matrix)), indent=1)
    files.write(folder / FILE, data, "free some room, or choose another --out")


def is_in(folder: Path) -> bool:
    """Tell whether a folder holds several sweeps; one that may not be looked into holds none."""
    try:
        return (folder / FILE).exists()
    except OSError:
        return False


class _Versioned(msgspec.Struct):
    version: int


def read(folder: Path, known: Sequence[str]) -> Matrix:
    """Read what :func:`write` wrote, with suspicion.

    Parameters
    ----------
    folder : Path
    known : sequence of str
        The settings that there are.

    Raises
    ------
    StoreError
        If there is none, it is damaged, or another tare wrote it in another way.
    """
    path = folder / FILE
    try:
        data = files.read_own(path, _SIZE_LIMIT, "the settings in", _MAKES_ONE)
        version = decode(data, _Versioned).version
        if version == VERSION:
            found = decode(data, Matrix)
            _check(found, known)
            return found
    except DecodeError as error:
        raise StoreError(f"{path} is damaged: {error}", _MAKES_ONE) from error
    raise StoreError(
        f"{path} was written by another tare (version {version}, this one reads {VERSION})",
        "go on with the tare that wrote it",
    )


def _check(found: Matrix, known: Sequence[str]) -> None:
    """Raise DecodeError for what no ``--settings`` asks for."""
    if not set(found.asked) <= set(known) or not all(found.asked.values()):
        raise DecodeError("it asks for settings that there are not")
    if math.prod(map(len, found.asked.values())) > MOST:
        raise DecodeError(f"it asks for more than {MOST} sweeps")
    # Folders, too: a name may not lead out of that of the matrix.
    due = [(one.settings, one.folder) for one in combinations(found.asked)]
    if [(one.settings, one.folder) for one in found.combinations] != due:
        raise DecodeError("its combinations are not those of the settings it asks for")
    if len({name for _, name in due}) < len(due):
        raise DecodeError("two of its combinations are the same")
    if found.experiment.window is None:
        raise DecodeError("its experiment is no sweep")
    if not 0 < found.each_s < _LONGEST_S:
        raise DecodeError("its windows take a time that is not possible")


def became(
    one: Combination,
    state: State,
    *,
    why: str | None = None,
    hint: str | None = None,
    boot: tuple[str, ...] = (),
) -> Combination:
    """Return a combination with what became of it."""
    return msgspec.structs.replace(one, state=state, why=why, hint=hint, boot=boot)


def with_one(matrix: Matrix, now: Combination) -> Matrix:
    """Return the matrix with one combination as it is now."""
    changed = tuple(now if c.folder == now.folder else c for c in matrix.combinations)
    return msgspec.structs.replace(matrix, combinations=changed)
