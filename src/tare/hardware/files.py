"""Files below a root, read without complaint: what is not there is None."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class Files:
    """The files below a root.

    Parameters
    ----------
    root : Path
        ``/``, or where another machine's files were put.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def bytes(self, path: str) -> bytes | None:
        """Return what a file holds."""
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return None

    def text(self, path: str) -> str | None:
        """Return what a file says, without space around; None where that is nothing."""
        content = self.bytes(path)
        return None if content is None else content.decode(errors="replace").strip("\0 \n") or None

    def number(self, path: str) -> int | None:
        """Return the whole number that a file holds."""
        return whole(self.text(path))

    def field(self, path: str, name: str) -> str | None:
        """Return the first value of a name in a file of lines like ``name : value``."""
        for line in (self.text(path) or "").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip() or None
        return None

    def kibibytes(self, path: str, name: str) -> int | None:
        """Return a field like ``MemTotal: 16384 kB`` in bytes."""
        words = (self.field(path, name) or "").split()
        size = whole(words[0]) if words else None
        return None if size is None else size * 1024

    def chosen(self, path: str) -> str | None:
        """Return the word in brackets of a file like ``always [madvise] never``."""
        words = (self.text(path) or "").split()
        return next((word.strip("[]") for word in words if word.startswith("[")), None)

    def cpus(self, path: str) -> tuple[int, ...]:
        """Return the numbers of a list like ``0-3,8``; none where it cannot be read."""
        found: list[int] = []
        for part in (self.text(path) or "").split(","):
            first, _, last = part.partition("-")
            low, high = whole(first), whole(last or first)
            if low is not None and high is not None:
                found.extend(range(low, high + 1))
        return tuple(found)

    def each(self, folders: str, name: str) -> Iterator[str]:
        """Return the paths of a pattern below folders of a pattern, in order."""
        try:
            found = sorted((self.root).glob(f"{folders}/{name}"))
        except OSError:
            return iter(())
        return (str(path.relative_to(self.root)) for path in found)


def whole(text: str | None) -> int | None:
    """Return a whole number; None where the text is none."""
    try:
        return None if text is None else int(text, 0 if text.startswith("0x") else 10)
    except ValueError:
        return None
