"""What a setting is: the check that judges it, the kernel's files that hold it, and its effect.

A unit describes one knob once: how it is read, what is good for which purposes, how it is set,
verified and put back.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tare.errors import ExperimentError, PlatformError, Typed
from tare.host import phrases
from tare.host.check import Check, Diagnosis, Purpose, Verdict, fail, ok, unknown
from tare.host.kernel_files import KernelFiles
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Message, message

#: What is put back: the text of each file by its name.
Saved = dict[str, str]
#: Ends what must be kept open for a setting to hold.
Release = Callable[[], None]


class Setting(Check):
    """One knob; a unit says where it is, and overrides what is not a mere file.

    Attributes
    ----------
    wanted : str
        What ``tare doctor --fix`` asks for where it is named alone.
    """

    wanted: str

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the files that hold it."""
        raise NotImplementedError

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that it can be set to a value here; changes nothing.

        Raises
        ------
        ExperimentError
            If it has no such value.
        PlatformError
            If this machine, or this user, cannot change it.
        """
        raise NotImplementedError

    def read(self, kernel: KernelFiles) -> str | None:
        """Return its present value in the words of :meth:`apply`; None: not visible here."""
        raise NotImplementedError

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Return what puts it back to what it is now.

        Parameters
        ----------
        kernel : KernelFiles
            Where it is.
        session : str
            Its name begins that of everything that :meth:`apply` makes.
        """
        return {n: text for n in self.names(kernel) if (text := kernel.value(n)) is not None}

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Set it; OSError is what the kernel answers."""
        raise NotImplementedError

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """See that it is so, by its effect where it has one that can be seen.

        Raises
        ------
        PlatformError
            If it is not.
        """
        if (now := self.read(kernel)) != wanted:
            raise PlatformError(f"{self.description.name} is {now} although {wanted} was written")

    def now(self, kernel: KernelFiles, name: str) -> str | None:
        """Return what :meth:`save` would keep of one file."""
        return kernel.value(name)

    def put(self, kernel: KernelFiles, name: str, text: str) -> None:
        """Put one file back."""
        kernel.write(name, text)


class NeedsRootError(PlatformError):
    """Root could, but this user may not."""


@dataclass(frozen=True, kw_only=True)
class FileSetting(Setting):
    """A setting that is one word in one file, or the same word in one file a CPU."""

    description: Description
    order: int
    effect: Message
    #: Why its bad values matter.
    why: Message
    wanted: str
    #: Patterns of files; the first that fits anything is it.
    files: tuple[str, ...]
    #: The kernel's text by the word for it; a word that is not here is written as it is.
    words: dict[str, str] = field(default_factory=dict)
    #: Files that tell which words there are; None: those of ``words``, or any number.
    offered: str | None = None
    #: Values that nothing is against; every other one is bad for some purposes.
    good: tuple[str, ...]
    bad_for: tuple[Purpose, ...]
    verdict: Verdict = "fail"
    why_absent: Callable[[KernelFiles], str] = lambda kernel: phrases.NOT_VISIBLE
    #: Raises PlatformError where the effect of a value is not there.
    effect_of: Callable[[KernelFiles, str], None] | None = None

    def examine(self, view: View) -> Diagnosis:
        """Judge its value."""
        now = self.read(view.kernel)
        if now is None:
            return unknown(message("{why}", why=self.why_absent(view.kernel)))
        value = message("{value}", value=now)
        return ok(value) if now in self.good else self.bad(view.kernel, value)

    def bad(self, kernel: KernelFiles, value: Message) -> Diagnosis:
        """Return that it is bad, and what sets it, for good or for a while."""
        name = self.description.name
        written = self.texts(kernel).get(self.wanted, self.wanted)
        pattern = next((one for one in self.files if _found(kernel, one)), self.files[0])
        return fail(
            value,
            *self.bad_for,
            why=self.why,
            change=message("echo {text} | sudo tee {file}", text=written, file=pattern),
            fix={name: self.wanted},
            verdict=self.verdict,
        )

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the files that hold it."""
        return next((found for one in self.files if (found := _found(kernel, one))), [])

    def texts(self, kernel: KernelFiles) -> dict[str, str]:
        """Return the kernel's text by the word for it."""
        return self.words

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that the value is offered and the files can be written."""
        name = self.description.name
        if not (names := self.names(kernel)):
            raise PlatformError(f"{name} cannot be changed here: {self.why_absent(kernel)}")
        values = self.values(kernel)
        if values and wanted not in values:
            raise ExperimentError(
                f"{name} cannot be {wanted!r} here", f"one of: {', '.join(values)}"
            )
        # Where the kernel does not tell its words, it says itself what it does not take.
        if not values and self.offered is None and not re.fullmatch(r"-?[0-9]+", wanted):
            raise ExperimentError(f"{name} is a whole number, not {wanted!r}")
        check_writable(self, kernel, names)

    def values(self, kernel: KernelFiles) -> list[str]:
        """Return the words that it can be set to here; none: any whole number."""
        if self.offered is None:
            return list(self.words)
        found = kernel.glob(self.offered)
        return (
            (kernel.read(found[0]) or "").replace("[", "").replace("]", "").split() if found else []
        )

    def read(self, kernel: KernelFiles) -> str | None:
        """Return its value; where CPUs differ, all of theirs."""
        texts = dict.fromkeys(kernel.value(name) for name in self.names(kernel))
        words = {text: word for word, text in self.texts(kernel).items()}
        return " and ".join(words.get(t, t) for t in texts if t is not None) or None

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Write it to every file."""
        for name in self.names(kernel):
            kernel.write(name, self.texts(kernel).get(wanted, wanted))
        return None

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """Read it back, then look for its effect."""
        super().verify(kernel, wanted)
        if self.effect_of is not None and kernel.live:
            self.effect_of(kernel, wanted)


def _found(kernel: KernelFiles, pattern: str) -> list[str]:
    """Return the files that fit a pattern; a single one has to be readable."""
    if "*" in pattern:
        return kernel.glob(pattern)
    return [] if kernel.read(pattern) is None else [pattern]


def check_writable(setting: Setting, kernel: KernelFiles, names: Iterable[str]) -> None:
    """Raise PlatformError where this process may not write a setting's files."""
    what = setting.description.name
    for name in names:
        if not kernel.may_write(name):
            if os.geteuid() != 0 and not kernel.is_read_only(name):
                raise NeedsRootError(
                    f"{what} needs root: {name} may not be written by this user",
                    Typed(
                        f"sudo {shlex.quote(str(Path(sys.argv[0]).absolute()))} doctor --fix {what}"
                    ),
                )
            raise PlatformError(
                f"{what} cannot be changed: {name} is read-only even for root, as in a container",
                "change it on the host",
            )
