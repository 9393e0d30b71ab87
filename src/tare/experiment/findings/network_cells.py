"""Cells of an experiment with a network, as a ladder of budgets: what networks are judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tare.errors import TareError
from tare.experiment.findings.cells import Basis, Cell, Cells, basis_of, cells_of
from tare.experiment.findings.finding import uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.experiment.specification import NO_NETWORK
from tare.networks.shaping.specification import Bucket, Shaping, parse
from tare.registry import Description
from tare.render.words import shown
from tare.render.words import text as written
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.results.message import Levels, Message, message
from tare.statistics.statistic import FloatArray
from tare.units import chosen

FACTOR = "network"
#: How the level without shaping is called in sentences.
UNSHAPED = "unshaped"


@dataclass(frozen=True)
class Level:
    """One level of the factor: as written, as it is called here, and what it says."""

    text: str
    name: str
    shaping: Shaping

    @property
    def bucket(self) -> Bucket | None:
        """The bucket that hosts have at this level."""
        return self.shaping if isinstance(self.shaping, Bucket) else None

    @property
    def uneven(self) -> bool:
        """Whether hosts begin with different tokens."""
        return self.bucket is not None and bool(self.bucket.hosts_bits)

    @property
    def budget_bits(self) -> int | None:
        """Tokens that each host begins with."""
        return None if self.bucket is None else self.bucket.begins_with()


@dataclass(frozen=True, eq=False)
class Rung:
    """One level of a ladder.

    Attributes
    ----------
    trials : Columns
        Good trials in order of time: ``trial, session, block, value``.
    use, log : Columns
        Of the same trials, as in :class:`~tare.experiment.results.Results`; empty where nothing is
        shaped.
    """

    level: Level
    cell: Cell
    trials: Columns
    use: Columns
    log: Columns

    @property
    def values(self) -> FloatArray:
        """Value of each trial, in order of time."""
        return self.trials["value"]

    @property
    def n(self) -> int:
        """Good trials."""
        return len(self.trials)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Cells that differ in their network only: the reference, then from the largest budget on.

    Attributes
    ----------
    levels : mapping
        Levels of all other factors.
    at : Levels or None
        Those that are varied; None where no other factor is.
    """

    levels: Mapping[str, str]
    at: Levels | None
    rungs: tuple[Rung, ...]

    @property
    def where(self) -> str:
        """The levels of all other factors in words; empty where no other is varied."""
        return "" if self.at is None else shown(self.at)

    def named(self, level: Level) -> Message:
        """Name a level, and where it is."""
        return message(
            "{level}{% if where %} for {where}{% endif %}", level=level.name, where=self.at
        )

    @property
    def buckets(self) -> tuple[Rung, ...]:
        """Those with buckets, from the largest budget on."""
        return tuple(r for r in self.rungs if r.level.bucket is not None)


@dataclass(frozen=True, eq=False)
class OfRung:
    """Something that was found of one level of a ladder."""

    ladder: Ladder
    rung: Rung

    @property
    def level(self) -> Message:
        """The level, and where it is."""
        return self.ladder.named(self.rung.level)

    @property
    def name(self) -> str:
        """The same in words."""
        return written(self.level)


@dataclass(frozen=True, eq=False)
class Networks:
    """All ladders of an experiment.

    Attributes
    ----------
    reference : Level
        What the others are compared with: the unshaped one, else the largest budget.
    largest : Level or None
        The largest budget.
    """

    results: Results
    cells: Cells
    ladders: tuple[Ladder, ...]
    reference: Level
    largest: Level | None

    @property
    def basis(self) -> Basis:
        """What values are of."""
        return self.cells.basis

    @property
    def rungs(self) -> list[tuple[Ladder, Rung]]:
        """Every rung with its ladder."""
        return [(ladder, rung) for ladder in self.ladders for rung in ladder.rungs]


def applies(results: Results) -> bool:
    """Whether an experiment varies, or sets, the network; one for services alone says nothing."""
    return FACTOR in results.factors and not results.experiment.network_of_services


def constant(results: Results) -> bool:
    """Whether something else is compared, in one network."""
    return results.experiment.stopping.compare is not None and len(_levels(results)) == 1


def _levels(results: Results) -> tuple[object, ...]:
    return tuple(results.experiment.factors.get(FACTOR, ()))


def carried(results: Results) -> bool:
    """Whether trials begin with what the one before left."""
    return results.experiment.network.budget == "carry"


@lru_cache(maxsize=4)
def networks_of(results: Results) -> Networks | Message:
    """Lay the cells of an experiment out as ladders; or say why nothing can be."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return basis
    cells = cells_of(results, basis)
    texts = dict.fromkeys(c.levels[FACTOR] for c in cells.all)
    levels = levels_of(texts, results.experiment.networks)
    values = results.values(basis.metric, basis.source)
    ladders = []
    for others, by_level in cells.groups(FACTOR):
        rungs = [_rung(levels[text], cell, values, results) for text, cell in by_level.items()]
        varied = [f for f in results.varied if f != FACTOR]
        at = where(others, varied) if varied else None
        ladders.append(Ladder(others, at, tuple(sorted(rungs, key=lambda r: _place(r.level)))))
    ordered = sorted(levels.values(), key=_place)
    largest = next((x for x in ordered if x.bucket is not None), None)
    return Networks(results, cells, tuple(ladders), ordered[0], largest)


def over_networks(
    description: Description,
    judge: Callable[[Networks], Finding | Message | None],
    *,
    compares: bool = False,
) -> Callable[[Results], Finding | None]:
    """Make a question of experiments with networks: `judge` answers it, or says why it cannot.

    ``compares``: networks are compared, so that one network alone is no question.
    """

    def find(results: Results) -> Finding | None:
        if not applies(results) or (compares and constant(results)):
            return None
        networks = networks_of(results)
        found = networks if isinstance(networks, Message) else judge(networks)
        return uncompared(description, found) if isinstance(found, Message) else found

    return find


def _place(level: Level) -> tuple[int, float]:
    """Unshaped first, then buckets from the largest on, then the rest as it came."""
    if level.budget_bits is not None:
        return 1, -level.budget_bits
    return (0, 0.0) if level.text == NO_NETWORK else (2, 0.0)


def _rung(level: Level, cell: Cell, values: Columns, results: Results) -> Rung:
    of_cell = values.where(cell=cell.cell).only("trial", "session", "block", "value")
    trials = set(of_cell["trial"].tolist())
    use, log = (some.where(trial=trials) for some in (results.network_use, results.network_log))
    return Rung(level, cell, of_cell, use, log)


def levels_of(texts: Iterable[str], named_by: Mapping[str, str] | None = None) -> dict[str, Level]:
    """Read levels as written, and give each a short name where that says all.

    Buckets that differ in nothing but their budget, which all hosts have, are called by it, unless
    the experiment has a name for them: ``named_by`` has the specification of each.
    """
    known = named_by or {}
    read = {text: _parsed(known.get(text, text)) for text in texts}
    buckets = [s for s in read.values() if isinstance(s, Bucket)]
    others = {(b.high_bps, b.low_bps, b.refill_bps, b.queue_bytes, b.hosts_bits) for b in buckets}
    alike = len(others) == 1 and not any(b.hosts_bits for b in buckets)
    short = [chosen(b.begins_with(), "bits") for b in buckets]
    by_budget = alike and len(set(short)) == len(short)
    named = {}
    for text, shaping in read.items():
        name = UNSHAPED if text == NO_NETWORK else text
        if by_budget and isinstance(shaping, Bucket) and text not in known:
            name = chosen(shaping.begins_with(), "bits")
        named[text] = Level(text, name, shaping)
    return named


def _parsed(text: str) -> Shaping:
    """Read a level; what is no longer understood, as of another version, stays as written."""
    try:
        return parse(text)
    except TareError:
        return None
