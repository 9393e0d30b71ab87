"""The kernel's files, below a root: another root is another machine, such as a recorded one."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

#: Of a CPU: no machine has as many, and what is typed may be anything.
_NUMBER = re.compile(r"[0-9]{1,5}")
_CHOSEN = re.compile(r"(?:^|\s)\[([^\]]+)\]")


class KernelFiles:
    """Reads ``/proc``, ``/sys`` and their like; what is not there is None.

    Parameters
    ----------
    root : Path
        Where names begin; this machine's own root by default.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    @property
    def live(self) -> bool:
        """Whether it is this machine: only then can an effect be looked for."""
        return self.root == Path("/")

    def path(self, name: str) -> Path:
        """Return where a file is."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str | None:
        """Return a file's text without the white space around it."""
        try:
            return self.path(name).read_text(errors="replace").strip()
        except OSError:
            return None

    def content(self, name: str) -> bytes | None:
        """Return what a file holds that is no text."""
        try:
            return self.path(name).read_bytes()
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        """Return what a file holds, if that is a whole number."""
        try:
            return int(self.read(name) or "")
        except ValueError:
            return None

    def value(self, name: str) -> str | None:
        """Return the setting that a file holds: of ``always [madvise] never`` what is chosen."""
        text = self.read(name)
        found = _CHOSEN.search(text or "")
        return found[1] if found else text

    def lines(self, name: str) -> list[str]:
        """Return the lines of a file; none where it is not there."""
        return (self.read(name) or "").splitlines()

    def fields(self, name: str) -> dict[str, str]:
        """Return what a file of lines ``name: value`` holds; of repeated names the first."""
        found: dict[str, str] = {}
        for line in self.lines(name):
            key, colon, value = line.partition(":")
            if colon:
                found.setdefault(key.strip(), value.strip())
        return found

    def field(self, name: str, key: str) -> str | None:
        """Return one of :meth:`fields`; None where it is not there, or empty."""
        return self.fields(name).get(key) or None

    def size_bytes(self, name: str, key: str) -> int | None:
        """Return a field like ``MemTotal: 16384 kB`` in bytes."""
        number, _, _ = (self.field(name, key) or "").partition(" ")
        return int(number) * 1024 if number.isdigit() else None

    def glob(self, pattern: str) -> list[str]:
        """Return the names that fit a pattern, numbers in their order."""
        with contextlib.suppress(OSError):
            found = self.root.glob(pattern.lstrip("/"))
            return sorted((f"/{path.relative_to(self.root)}" for path in found), key=_natural)
        return []

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file or folder."""
        return os.path.lexists(self.path(name))

    def may_write(self, name: str) -> bool:
        """Tell whether this process may change a file; a read-only mount says no as well."""
        return os.access(self.path(name), os.W_OK, effective_ids=True)

    def is_read_only(self, name: str) -> bool:
        """Tell whether nobody here may change a file, since what it is on is mounted so."""
        try:
            return bool(os.statvfs(self.path(name)).f_flag & os.ST_RDONLY)
        except OSError:
            return False

    def write(self, name: str, text: str) -> None:
        """Write to a file that is there; OSError is what the kernel answers."""
        file = os.open(self.path(name), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def cpus(text: str | None) -> tuple[int, ...]:
    """Return the CPUs of a list like ``0-3,8``."""
    found: list[int] = []
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        numbers = [int(n) for n in (first, last or first) if _NUMBER.fullmatch(n)]
        if len(numbers) == 2:
            found += range(numbers[0], numbers[1] + 1)
    return tuple(found)


def cpu_list(numbers: tuple[int, ...]) -> str:
    """Return CPUs as the kernel lists them: ``0-3,8``."""
    parts: list[str] = []
    run: list[int] = []
    for number in [*sorted(set(numbers)), None]:
        if run and number != run[-1] + 1:
            parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run = []
        if number is not None:
            run.append(number)
    return ",".join(parts)


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Order by the numbers in a name: cpu2 before cpu10."""
    return [
        (0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part
    ]
