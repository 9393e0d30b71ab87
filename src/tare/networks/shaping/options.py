"""The words of a specification: what it is of, and ``name=value`` for each option."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tare.errors import ExperimentError

#: Longer than any specification that a person writes.
LONGEST = 10_000

#: The host whose option it is ends the name: ``initial3``.
_HOST = re.compile(r"[1-9][0-9]{0,2}\Z", re.ASCII)

#: What shapers elsewhere can do and tare's cannot, with what to write instead.
_NOT_EMULATED = ("delay", "latency", "rtt", "jitter", "loss", "duplicate", "corrupt", "reorder")


@dataclass(frozen=True)
class Words:
    """A specification taken apart: ``bucket:c5.xlarge budget=100Gbit``.

    Attributes
    ----------
    kind : str
        The word before the colon: ``bucket``.
    name : str
        What is after it: ``c5.xlarge``; empty: no colon.
    value : str
        What has no name: of ``rate 200Mbit``.
    options : dict
        Values by name.
    """

    kind: str
    name: str
    value: str
    options: dict[str, str]

    def only(self, known: Iterable[str], example: str, by_host: Iterable[str] = ()) -> None:
        """Refuse an option that this kind does not have; each host may have one ``by_host``."""
        known, by_host = tuple(known), tuple(by_host)
        of_hosts = [name for one in by_host for name in self.of_hosts(one)]
        shown = [f"{one}=" for one in known] + [f"{one}N=" for one in by_host]
        for name in self.options:
            if name in known or name in of_hosts:
                continue
            if name in _NOT_EMULATED:
                raise _not_emulated(f"{name}=", example)
            near = _meant(name, known, by_host)
            raise ExperimentError(
                f"{self.kind} has no {name}=, but {', '.join(shown)}"
                + (f"; {near}= is meant?" if near else ""),
                example,
            )

    def of_hosts(self, option: str) -> dict[str, int]:
        """Return the names of an option that are of single hosts, with their numbers."""
        ends = {name: name.removeprefix(option) for name in self.options if name.startswith(option)}
        return {name: int(end) for name, end in ends.items() if _HOST.match(end)}

    def needed(self, name: str, meaning: str, example: str) -> str:
        """Return an option that must be there."""
        if name not in self.options:
            raise ExperimentError(f"{self.kind} lacks {name}=, {meaning}", example)
        return self.options[name]


def _not_emulated(what: str, example: str) -> ExperimentError:
    """Return the refusal of what shapers elsewhere can do."""
    return ExperimentError(
        f"{what} is not emulated: delay and loss take the kernel's netem, which many kernels do "
        "not have; rates, budgets and queues are, and a longer queue lets packets wait",
        f"{example} queue=1MB",
    )


def taken_apart(text: str) -> Words:
    """Take a specification apart.

    Raises
    ------
    ExperimentError
        If it is empty, or says something twice or of nothing.
    """
    if len(text) > LONGEST or not text.isprintable():
        raise ExperimentError(
            f"a network is specified in one line of printable text, at most {LONGEST} characters"
        )
    # Spaces beside = and inside a value are the writer's own.
    tidy = re.sub(r"\s*=\s*", "=", text.strip())
    first, *parts = re.split(r"\s+(?=[^\s=]+=)", tidy)
    options: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition("=")
        if name in options:
            raise ExperimentError(f"{name}= is there twice in {text!r}", "leave one of them out")
        if not value:
            raise ExperimentError(f"{name}= says nothing in {text!r}", f"{name}=… or leave it out")
        options[name] = value
    head, colon, name = first.partition(":")
    if colon and " " not in head:
        return Words(head, name.strip(), "", options)
    kind, _, value = first.partition(" ")
    if (wish := kind.partition("=")[0]) in _NOT_EMULATED:
        raise _not_emulated(wish, "rate 200Mbit")
    return Words(kind, "", value.strip(), options)


def _meant(name: str, known: Iterable[str], by_host: Iterable[str]) -> str | None:
    """Return the option that was probably meant; where the name ends with a host, that host's."""
    word = name.rstrip("0123456789")
    host = name[len(word) :]
    if _HOST.match(host) and (near := nearest(word, by_host)):
        return near + host
    return nearest(name, known)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the word that was probably meant; None: none is near."""
    by_small: Mapping[str, str] = {one.lower(): one for one in known}
    found = difflib.get_close_matches(word.lower(), by_small, n=1)
    return by_small[found[0]] if found else None
