"""Memory that a file may fill: a control group of known size, or on request the whole machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from tare.agent import record
from tare.errors import PlatformError
from tare.experiment import machine_facts
from tare.experiment.session import scratch_space
from tare.features.machine.fingerprint import phrases
from tare.platforms import groups
from tare.platforms.layer import Place
from tare.registry import Probe
from tare.render.words import text
from tare.results.message import Amount, message

#: The probe that fills the file cache, and the name of its requirement.
PROBE, NEED = "file.cache_size", "file_cache"
#: File size relative to the memory: large enough to show the speed before and after it is full.
TIMES = 2
#: Below this the process itself takes most of the group.
LEAST_BYTES = 16 << 20
#: Memory for which the probe's described duration holds.
_DESCRIBED_BYTES = 1 << 30


class LackingError(Exception):
    """The size of the file cache cannot be known here; the message says why."""


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that files may fill."""

    job: record.FileCache
    memory_bytes: int

    @property
    def facts(self) -> dict[str, int]:
        """Its size, under a name that says whose it is."""
        whose = "machine" if self.job.group is None else "group"
        return {f"file_cache_{whose}_bytes": self.memory_bytes}

    def timed(self, probe: Probe) -> Probe:
        """Return the probe with the duration that it has for this file."""
        scale = max(self.job.file_bytes, TIMES * LEAST_BYTES) / (TIMES * _DESCRIBED_BYTES)
        whole = (probe.seconds.whole or 0.0) * scale
        return msgspec.structs.replace(
            probe, seconds=msgspec.structs.replace(probe.seconds, whole=whole)
        )


@contextmanager
def made(
    name: str,
    asked: int | Literal["machine"] | None,
    directory: Path,
    most_file_bytes: int | None,
) -> Iterator[Cache]:
    """Make the control group that files may fill, and remove it.

    Parameters
    ----------
    name : str
        Name of the group, which begins with that of the session.
    asked : int, "machine" or None
        Its memory in bytes; "machine": no group. By default 1 GiB, at most a quarter of the
        available memory.
    directory : Path
        Where the file is written.
    most_file_bytes : int or None
        Limit of the file, if the user set one.

    Raises
    ------
    LackingError
        If there can be none here.
    """
    available = machine_facts.available_bytes()
    whole = asked == "machine"
    memory = available if whole else scratch_space.memory_bytes(asked if asked != "machine" else 0)
    if memory is None:
        raise LackingError(
            text(
                message(
                    "the kernel does not report how much memory is available: --file-cache SIZE"
                )
            )
        )
    wanted = min(
        TIMES * memory, most_file_bytes or TIMES * memory, scratch_space.spare_bytes(directory)
    )
    folder, file_bytes, why = scratch_space.disk(directory, wanted)
    if folder is None:
        raise LackingError(text(message(phrases.LACKING_DIRECTORY, why=why)))
    if whole:
        job = record.FileCache(group=None, file_bytes=file_bytes)
        yield Cache(job=job, memory_bytes=memory)
        return
    memory = min(memory, file_bytes // TIMES)
    if memory < LEAST_BYTES:
        raise LackingError(
            text(
                message(
                    "a group of {memory} is too small, it takes {least}: --file-cache SIZE, "
                    "--directory DIR",
                    memory=Amount(memory, "bytes"),
                    least=Amount(LEAST_BYTES, "bytes"),
                )
            )
        )
    try:
        (group,) = groups.limited(Place(name=name, shared="", memory_bytes=memory), above=True)
    except PlatformError as error:
        raise LackingError(
            text(
                message(
                    "no control group with a memory limit can be made, {why}: run it as root, or "
                    "--file-cache machine (evicts what other programs have cached)",
                    why=str(error.__cause__ or error),
                )
            )
        ) from error
    try:
        job = record.FileCache(group=str(group), file_bytes=TIMES * memory)
        yield Cache(job=job, memory_bytes=memory)
    finally:
        groups.clear(name)
