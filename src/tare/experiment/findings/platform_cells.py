"""Cells of one platform over its sizes, relative to those of bare: what platforms are judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tare.experiment.findings import phrases
from tare.experiment.findings.cells import (
    Basis,
    Cell,
    Cells,
    answer_metric,
    basis_of,
    cells_of,
)
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.results.message import Chosen, Message, Ratio, Said, message
from tare.statistics.platform_size import Factor, PlatformSize, platform_size
from tare.statistics.statistic import FloatArray

#: Largest accepted number of CPUs: a file from elsewhere may hold any number.
_MOST_CPUS = 1e6
#: Factors whose levels are sizes: what an instance is given.
SIZES = ("size", "quota")
#: Levels of pinning at which an instance shares the host's CPUs: PINNING's "vanilla".
FREE = "none"


def cost_basis(results: Results) -> Basis | Message:
    """Choose what platforms are judged by: wall time where sizes differ.

    A quota takes time, not CPU time: a kernel's CPU time would hide what it costs.
    """
    metric = answer_metric(results)
    chosen = results.experiment.metric is not None
    if metric == "kernel_cpu_ns" and not chosen and set(SIZES) & set(results.varied):
        wall = basis_of(results, "kernel_wall_ns")
        if not isinstance(wall, Message):
            return wall
    return basis_of(results)


@dataclass(frozen=True)
class Beside:
    """One platform over sizes, relative to its reference at the same sizes.

    Attributes
    ----------
    platform, pinning : str
        What is judged.
    reference, reference_pinning : str
        What it is compared with.
    levels : mapping
        Levels of all factors but these and the sizes.
    cells : tuple of (float, Cell, Cell)
        CPUs given, the reference's cell, the platform's; smallest first.
    found : PlatformSize
        The costs, divided.
    """

    platform: str
    pinning: str
    reference: str
    reference_pinning: str
    levels: Mapping[str, str]
    cells: tuple[tuple[float, Cell, Cell], ...]
    found: PlatformSize
    #: Factors in the levels that have several.
    varied: tuple[str, ...]
    #: Sizes at which both were to be measured; None: the plan is not known.
    planned: int | None

    @property
    def name(self) -> Message:
        """The platform with how it is pinned, and the levels of other factors that vary."""
        levels = where(self.levels, self.varied)
        return message(
            "{platform}{% if levels %} ({levels}){% endif %}",
            platform=named(self.platform, self.pinning),
            levels=levels if self.varied and levels.levels else None,
        )

    @property
    def versus(self) -> Message:
        """The platform and its reference."""
        return message(phrases.VERSUS, name=self.name, reference=self.beside)

    @property
    def beside(self) -> Said:
        """The reference with how it is pinned, where that differs."""
        if self.reference_pinning == self.pinning:
            return self.reference
        return named(self.reference, self.reference_pinning)


def named(platform: str, pinning: str) -> Message:
    """Name a platform with how it is pinned: "docker unpinned", "docker pinned"."""
    return message(
        "{platform} {% if pinning == 'none' %}unpinned{% elif pinning == 'pinned' %}pinned"
        "{% else %}pinned {pinning}{% endif %}",
        platform=platform,
        pinning=pinning,
    )


def host_cpus(results: Results) -> float | None:
    """Return the CPUs of the host; None where no fact says, or says something impossible."""
    rows = results.facts.where(name="cpus", platform=None)
    value = rows["value"][-1] if rows else None
    if not isinstance(value, int | float) or not 1 <= value <= _MOST_CPUS:
        return None
    return float(value)


def given_cores(results: Results, levels: Mapping[str, Any]) -> float | None:
    """Return the CPUs that an instance is given, by quota or by set; None where nothing says."""
    limits = results.experiment.limits(str(levels.get("size")))
    asked = [x for x in (limits.cores, limits.cpuset) if x is not None]
    quota = levels.get("quota")
    if quota not in (None, "None", ""):
        asked.append(float(quota))
    return float(min(asked)) if asked else host_cpus(results)


def size_name(cores: float) -> Message:
    """Name a size in CPUs: "0.25 cores", "1 core"."""
    return message("{cores} core{% if cores.value != 1 %}s{% endif %}", cores=Chosen(cores, "1"))


def ratio_of(factor: Factor | None) -> Ratio | None:
    """Return a factor of cost as a value to be shown."""
    return None if factor is None else Ratio(factor.value, factor.low, factor.high)


def reference_of(results: Results) -> str | None:
    """Return the platform that others are compared with: bare, or the first that is real."""
    tried = [p for p in dict.fromkeys(results.trial_table["platform"]) if p not in results.emulated]
    usual = results.reference("platform")
    return usual if usual in tried else next(iter(tried), None)


@lru_cache(maxsize=4)
def over_sizes(results: Results, basis: Basis) -> tuple[Beside, ...]:
    """Compare every real platform with its reference at the same limits, over all sizes.

    An unpinned platform is compared with an unpinned reference under the same quota, and also with
    a pinned one where there is one: a machine of that many CPUs of its own, PINNING's bare metal.
    """
    cells, reference = cells_of(results, basis), reference_of(results)
    host = host_cpus(results)
    if reference is None or host is None:
        return ()
    lines = _lines(cells)
    made = []
    for (platform, pinning, others), sizes in lines.items():
        if platform in results.emulated:
            continue
        for beside in _references(lines, platform, pinning, others, reference):
            one = _beside(results, basis, host, (platform, pinning), beside, others, sizes)
            if one is not None:
                made.append(one)
    return tuple(made)


Others = tuple[tuple[str, str], ...]
Lines = dict[tuple[str, str, Others], dict[float, Cell]]


def _lines(cells: Cells) -> Lines:
    """Cells of one platform, pinning and all else, by the CPUs that they are given."""
    found: Lines = {}
    for cell in cells.all:
        others = tuple(
            (f, v) for f, v in cell.levels.items() if f not in ("platform", "pinning", *SIZES)
        )
        cores = given_cores(cells.results, cell.levels)
        if cores is None:
            continue
        key = cell.levels["platform"], cell.levels.get("pinning", FREE), others
        # Of several sizes with the same CPUs, as with more memory, the first stands for all.
        found.setdefault(key, {}).setdefault(cores, cell)
    return found


def _references(
    lines: Lines, platform: str, pinning: str, others: Others, reference: str
) -> Iterator[tuple[str, str, dict[float, Cell]]]:
    same = lines.get((reference, pinning, others))
    if platform != reference and same is not None:
        yield reference, pinning, same
    if pinning != FREE and (platform == reference or same is not None):
        return
    # The reference on CPUs of its own; of a pinned platform without its like, an unpinned one.
    other = next(
        (
            (p, cells)
            for (r, p, o), cells in lines.items()
            if r == reference and o == others and (p == FREE) != (pinning == FREE)
        ),
        None,
    )
    if other is not None:
        yield reference, *other


def _beside(
    results: Results,
    basis: Basis,
    host: float,
    judged: tuple[str, str],
    beside: tuple[str, str, dict[float, Cell]],
    others: Others,
    sizes: dict[float, Cell],
) -> Beside | None:
    reference, reference_pinning, known = beside
    common = [(cores, known[cores], sizes[cores]) for cores in sorted(sizes) if cores in known]
    parts = [(cores, *log_costs(basis, first, second)) for cores, first, second in common]
    parts = [part for part in parts if len(part[2])]
    if not parts:
        return None
    cores = np.concatenate([np.full(len(costs), size) for size, _, costs in parts])
    logs = np.concatenate([costs for _, _, costs in parts])
    blocks = np.concatenate([names for _, names, _ in parts])
    planned = _planned(results, judged, (reference, reference_pinning), others)
    found = platform_size(
        cores,
        np.exp(logs),
        np.ones(len(logs)),
        blocks,
        host,
        results.experiment.margin,
        planned=planned,
    )
    met = {size for size, _, _ in parts}
    cells = tuple(one for one in common if one[0] in met)
    varied = tuple(factor for factor in results.varied if factor in dict(others))
    levels = dict(others)
    return Beside(*judged, reference, reference_pinning, levels, cells, found, varied, planned)


def _planned(
    results: Results, judged: tuple[str, str], beside: tuple[str, str], others: Others
) -> int | None:
    """Count the sizes at which both were to be measured; None where the plan is not known."""
    if not results.planned:
        return None
    sizes: dict[tuple[str, str], set[float | None]] = {judged: set(), beside: set()}
    for cell in results.planned:
        levels = cell.levels()
        where = levels["platform"], levels.get("pinning", FREE)
        if where in sizes and all(levels.get(factor) == level for factor, level in others):
            sizes[where].add(given_cores(results, levels))
    return len(sizes[judged] & sizes[beside])


def log_costs(basis: Basis, first: Cell, second: Cell) -> tuple[FloatArray, FloatArray]:
    """Return common blocks and the logarithm of what the second costs relative to the first.

    Of a rate, less is a cost. Blocks in which a value is 0 have no ratio.
    """
    own, other = first.common(second)
    a, b = first.trial_values[own], second.trial_values[other]
    good = (a > 0) & (b > 0)
    names = np.array(
        [
            f"{session}/{block}"
            for session, block in zip(first.sessions[own], first.blocks[own], strict=True)
        ],
        dtype=object,
    )
    logs = np.log(b[good]) - np.log(a[good])
    sign = -1.0 if basis.more_is_better else 1.0
    return names[good], sign * logs


def unpinned(
    shared: Beside, pinned: Beside, basis: Basis, host: float, margin: float
) -> PlatformSize | None:
    """Divide what a platform costs more unpinned than pinned: the part of its PSO due to that.

    None where they have no blocks of one size in common.
    """
    known = {cores: (first, second) for cores, first, second in pinned.cells}
    cores, logs, blocks = [], [], []
    for size, first, second in shared.cells:
        if size not in known:
            continue
        (a, free), (b, held) = log_costs(basis, first, second), log_costs(basis, *known[size])
        names, at, to = np.intersect1d(a.astype(str), b.astype(str), return_indices=True)
        cores.append(np.full(len(names), size))
        logs.append(free[at] - held[to])
        blocks.append(names)
    if not sum(len(names) for names in blocks):
        return None
    more = np.exp(np.concatenate(logs))
    return platform_size(
        np.concatenate(cores), more, np.ones(len(more)), np.concatenate(blocks), host, margin
    )
