"""The instances of platforms that a session keeps: started when first needed, then resident."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from tare import agent, platforms, record
from tare.experiment import Cell, Experiment
from tare.journal import MachineFact

#: Starting a container takes a fifth of a second; a VM takes seconds.
START_S = 120.0
#: Instances that are kept at a time: a machine of 64 CPUs has 640 quotas in steps of 0.1.
MOST_RESIDENT = 64

Cpus = tuple[int, ...] | None


class Key(NamedTuple):
    """What an instance was given."""

    platform: str
    size: str
    #: CPU time a second of time, whether by a size or by a quota of its own.
    cores: float | None
    period_s: float
    workers: tuple[int, ...]
    cpus: tuple[Cpus, ...]


@dataclass(frozen=True)
class Resident:
    """A platform instance with the agent in it and the workers that it is to run."""

    key: Key
    instance: platforms.Instance
    agent: agent.Agent

    @property
    def workers(self) -> tuple[int, ...]:
        """Numbers of the workers, over all instances of the trial."""
        return self.key.workers

    @property
    def cpus(self) -> tuple[Cpus, ...]:
        """CPUs of each worker."""
        return self.key.cpus


class Pool:
    """Gives each trial its instances; of more than it keeps, the longest unused one is ended.

    Parameters
    ----------
    name : str
        Name of the session; every instance is called ``NAME-NUMBER``.
    shared : str
        Host directory that every instance sees.
    experiment : Experiment
        Says whether workers share an instance and which options platforms have.
    tell : callable
        Takes the facts of every instance that was started.
    """

    def __init__(
        self,
        name: str,
        shared: str,
        experiment: Experiment,
        tell: Callable[[list[MachineFact]], None],
    ) -> None:
        self._name = name
        self._shared = shared
        self._experiment = experiment
        self._tell = tell
        #: The longest unused one first.
        self._residents: dict[Key, Resident] = {}
        self._started = 0
        #: Stacks that have told their facts.
        self._known: set[str] = set()

    def get(self, cell: Cell, cpus: tuple[Cpus, ...]) -> list[Resident]:
        """Return the instances for a cell's workers, starting those that are not there yet.

        Raises
        ------
        PlatformError, AgentError
            If one cannot be started; those that were stay for the next trial.
        """
        keys = self._keys(cell, cpus)
        missing = [key for key in keys if key not in self._residents]
        self._make_room(keys, len(missing))
        numbers = range(self._started, self._started + len(missing))
        self._started += len(missing)
        if len(missing) == 1:
            self._residents[missing[0]] = self._start(missing[0], numbers[0])
        elif missing:
            with ThreadPoolExecutor(max_workers=min(8, len(missing))) as threads:
                futures = [
                    threads.submit(self._start, key, number)
                    for key, number in zip(missing, numbers, strict=True)
                ]
            for key, future in zip(missing, futures, strict=True):
                if future.exception() is None:
                    self._residents[key] = future.result()
            for future in futures:
                future.result()
        for key in missing:
            if key.platform not in self._known:
                self._tell(_facts(self._residents[key]))
                self._known.add(key.platform)
        for key in keys:
            self._residents[key] = self._residents.pop(key)
        return [self._residents[key] for key in keys]

    def _make_room(self, keys: list[Key], count: int) -> None:
        """End the longest unused instances but those of a trial, so that so many more fit."""
        unused = [key for key in self._residents if key not in keys]
        for key in unused[: max(0, len(self._residents) + count - MOST_RESIDENT)]:
            self.discard([self._residents[key]])

    def discard(self, residents: list[Resident]) -> list[platforms.Figure]:
        """End instances, and return the figures that the platforms themselves have of them."""
        figures: list[platforms.Figure] = []
        for resident in residents:
            self._residents.pop(resident.key, None)
            figures += resident.instance.close()
        return figures

    def close(self) -> None:
        """End all instances."""
        self.discard(list(self._residents.values()))

    def _keys(self, cell: Cell, cpus: tuple[Cpus, ...]) -> list[Key]:
        workers = tuple(range(cell.workers))
        e = self._experiment
        given = (cell.platform, cell.size, e.cores(cell), e.period_s(cell))
        if e.instances == "shared":
            return [Key(*given, workers, cpus)]
        return [Key(*given, (worker,), (cpus[worker],)) for worker in workers]

    def _start(self, key: Key, number: int) -> Resident:
        cpus = key.cpus
        given = None if None in cpus else tuple(sorted({c for some in cpus for c in some or ()}))
        instance = platforms.start(
            key.platform,
            platforms.Place(
                name=f"{self._name}-{number}",
                cpus=given,
                cores=key.cores,
                period_us=round(key.period_s * 1e6),
                memory_bytes=self._experiment.limits(key.size).memory_bytes,
                shared=self._shared,
                options=self._experiment.platforms,
                runs_commands=self._experiment.runs_commands,
                workers=len(key.workers),
            ),
        )
        try:
            resident = Resident(key, instance, agent.Agent(instance.channel, timeout_s=START_S))
        except BaseException:
            instance.close()
            raise
        return resident


def _facts(resident: Resident) -> list[MachineFact]:
    """Return what the instance and the agent in it say of themselves."""
    platform = resident.key.platform
    told = [
        MachineFact(name=name, value=value, unit=unit, source=source, platform=platform)
        for name, value, unit, source in resident.instance.facts
    ]
    job = record.MeasureSelf(id=resident.agent.next_id())
    for got in resident.agent.ask(job, START_S):
        # How many CPUs a quota comes to is the quota's, not the platform's.
        limited = resident.key.cores is not None and getattr(got, "name", None) == "cpus_visible"
        if isinstance(got, record.Fact) and not limited:
            told.append(
                MachineFact(
                    name=got.name,
                    value=got.value,
                    unit=got.unit,
                    source=got.source,
                    platform=platform,
                )
            )
    return told
