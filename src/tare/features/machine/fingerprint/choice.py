"""Which probes are meant: by name, by a metric, by the beginning of either, or all of an effort."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tare.agent import record
from tare.errors import ExperimentError, Typed
from tare.experiment.fingerprints.machine.document import Problem
from tare.features.machine.fingerprint import derived
from tare.registry import Probe

#: Probes that run only where they are requested by name.
_OPTIONAL = ("remote",)


@dataclass(frozen=True)
class Choice:
    """What a fingerprint is to hold."""

    probes: tuple[Probe, ...]
    #: Probes that were left out, each with a fix.
    problems: tuple[Problem, ...] = ()
    #: Requested names; empty: all probes of the effort.
    words: tuple[str, ...] = ()

    def wants(self, metric: str) -> bool:
        """Tell whether a metric was asked for."""
        return not self.words or any(_under(metric, word) for word in self.words)


def choose(
    known: Mapping[str, Probe],
    words: Sequence[str],
    effort: record.Effort,
    lacking: Mapping[str, str],
) -> Choice:
    """Choose probes.

    Parameters
    ----------
    known : mapping
        Probe by name.
    words : sequence of str
        Names or beginnings of names: ``memory``, ``memory.latency``, ``syscall.getpid``; none:
        all that have a part in the effort.
    effort : {"brief", "quick", "whole"}
        How much is looked at.
    lacking : mapping
        What probes may need and is not there: why, and what to type for it.

    Raises
    ------
    ExperimentError
        If nothing is called so.
    """
    if words:
        named = {probe.name for word in words for probe in _named(known.values(), word)}
        some = [probe for probe in known.values() if probe.name in named]
    else:
        some = [probe for probe in known.values() if takes_part(probe, effort)]
    able = [probe for probe in some if not any(need in lacking for need in probe.needs)]
    told = [
        Problem(probe=probe.name, why=lacking[need])
        for probe in some
        for need in probe.needs
        if need in lacking and (words or effort == "whole" or need not in _OPTIONAL)
    ]
    return Choice(tuple(able), tuple(told), tuple(words))


def takes_part(probe: Probe, effort: record.Effort) -> bool:
    """Tell whether a probe is part of a fingerprint of that effort."""
    return getattr(probe.seconds, effort) is not None


def seconds(probe: Probe, effort: record.Effort) -> float:
    """Return about how long a round takes; one that is asked for by name may be of no effort."""
    of = probe.seconds
    given = (getattr(of, effort), of.quick, of.whole, of.brief)
    return next((one for one in given if one is not None), 1.0)


def names(probe: Probe) -> list[str]:
    """Return what can be asked of a probe by name."""
    metrics = [metric.name for metric in probe.metrics]
    return [probe.name, *metrics, *derived.names(probe.name)]


def _named(known: Iterable[Probe], word: str) -> list[Probe]:
    known = list(known)
    found = [probe for probe in known if any(_under(name, word) for name in names(probe))]
    # Points of a listed metric are figures of their own: ``call.int.3``.
    found = found or [
        probe
        for probe in known
        if any(metric.listed and _under(word, metric.name) for metric in probe.metrics)
    ]
    if not found:
        every = [name for probe in known for name in names(probe)]
        near = difflib.get_close_matches(word, every, n=3)
        raise ExperimentError(
            f"there is no probe or metric {word!r}",
            Typed(f"tare fingerprint {near[0]}") if near else Typed("tare describe probes"),
        )
    return found


def _under(name: str, word: str) -> bool:
    return name == word or name.startswith(word + ".")
