"""What is asked of a machine, and what there is for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tare import platforms
from tare.agent import record
from tare.experiment.session import scratch_space
from tare.features.machine.fingerprint import file_cache, phrases
from tare.features.machine.fingerprint.predictions import UserPrediction
from tare.host import hardware
from tare.render.words import text
from tare.results.message import Message, message

#: Default limit of the bytes written to a file.
FILE_BYTES = 256 << 20
#: Factor by which a repeated measurement is longer: four times the rounds halve the intervals.
AGAIN = 4


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a machine.

    Attributes
    ----------
    words : tuple of str
        Names of probes or metrics, or their beginnings; none: all of the effort.
    platform : str
        Stack of layers, outside-in.
    budget_s : float or None
        Seconds of rounds; None: those of the effort.
    precision : float or None
        Half-width at which a figure is exact enough; None: as many rounds as fit.
    soon : bool
        Whether somebody waits, so that it ends after some rounds even if less exact than that.
    file_bytes : int or None
        Most that is written to a file; None: ``FILE_BYTES``, except for the file cache.
    directory, remote : Path or None
        Where files are made, on this and on another machine's file system; a stack with files of
        its own has ``directory`` inside.
    file_cache : int, "machine" or None
        Memory of the control group in which the file cache is measured, in bytes, or that the whole
        machine's is; None: by default.
    predictions : mapping
        What the user expects, by figure.
    """

    words: tuple[str, ...] = ()
    effort: record.Effort = "quick"
    platform: str = "bare"
    budget_s: float | None = None
    precision: float | None = 0.02
    soon: bool = False
    memory_bytes: int | None = None
    file_bytes: int | None = None
    directory: Path | None = None
    remote: Path | None = None
    peer: record.Peer | None = None
    file_cache: int | Literal["machine"] | None = None
    seed: int = 1
    predictions: Mapping[str, UserPrediction] = field(default_factory=dict)

    @property
    def wants_file_cache(self) -> bool:
        """Whether the size of the file cache is meant: that writes more than other probes do."""
        named = any(word.startswith(file_cache.PROBE) for word in self.words)
        return self.effort == "whole" or self.file_cache is not None or named


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where files can be made, and what probes may need that is not there."""

    #: On this machine, in which a directory of the session's own is made.
    directory: Path | None
    remote: Path | None
    #: Seen by the agent alone: made by nobody, removed by nobody.
    inside: str | None
    file_bytes: int
    #: Need to the reason why it is not met, with what to type.
    lacking: dict[str, str]
    #: Why what was named as another machine's is none; it is measured all the same.
    not_remote: str | None = None


def places(asked: Asked) -> Places:
    """Look what there is of what probes need.

    Raises
    ------
    ExperimentError
        If there is no such platform, or a directory that was named is none.
    """
    lacking: dict[str, Message] = {}
    own_files = platforms.own_files(asked.platform)
    directory, file_bytes = None, asked.file_bytes or FILE_BYTES
    inside = str(asked.directory) if own_files and asked.directory is not None else None
    if own_files and inside is None:
        lacking["directory"] = message(
            "{platform} has its own files: --directory DIR, its path inside",
            platform=asked.platform,
        )
    elif not own_files:
        directory, file_bytes, why = scratch_space.disk(asked.directory, file_bytes)
        if directory is None:
            lacking["directory"] = message(phrases.LACKING_DIRECTORY, why=why)
    remote = None
    if asked.remote is not None and not own_files:
        remote, _, why = scratch_space.disk(asked.remote, 0)
        if remote is None:
            lacking["remote"] = message("no directory for its files, {why}: --remote DIR", why=why)
    else:
        lacking["remote"] = (
            message("{platform} does not see this machine's mounts", platform=asked.platform)
            if own_files
            else message("it reads files on another machine's file system: --remote DIR")
        )
    if asked.platform != "bare":
        lacking["file_cache"] = message(phrases.LACKING_BARE_ALONE, probe=file_cache.PROBE)
    elif not asked.wants_file_cache:
        lacking["file_cache"] = message(
            "it fills a control group with a file of 2 GiB: --full, or tare fingerprint {probe}",
            probe=file_cache.PROBE,
        )
    if len(os.sched_getaffinity(0)) < 2:
        lacking["several_cpus"] = message("it needs two CPUs, and there is one here")
    return Places(
        directory=directory,
        remote=remote,
        inside=inside,
        file_bytes=file_bytes,
        lacking={need: text(why) for need, why in lacking.items()},
        not_remote=None if remote is None else _not_remote(remote),
    )


def _not_remote(folder: Path) -> str | None:
    disk = hardware.read(folder).disk
    if disk is None or disk.kind in ("remote", None):
        return None
    return text(
        message(
            "{folder} is on this machine ({file_system}): --remote DIR of another's",
            folder=str(folder),
            file_system=disk.file_system,
        )
    )
