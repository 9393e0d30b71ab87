"""Where this machine has Debian's packages from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

APT = Path("/etc/apt")
OS_RELEASE = Path("/etc/os-release")
#: Of a machine that is not Debian.
SUITE = "bookworm"
COMPONENTS = {"main", "contrib", "non-free", "non-free-firmware"}
_ONE_LINE = re.compile(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)")


def suite() -> str:
    """Return this machine's release of Debian, or else the newest that tare knows."""
    return _own_suite() or SUITE


def mirrors(suite: str) -> list[str]:
    """Return lines of ``sources.list`` for a suite; none where this machine has others."""
    if _own_suite() != suite:
        return []
    suites = (suite, f"{suite}-updates", f"{suite}-security")
    found = [
        f"deb {uri} {one} {' '.join(components)}"
        for options, uri, one, components in _entries()
        if one in suites and COMPONENTS.issuperset(components) and _is_debians(options)
    ]
    # Without the release itself, the others are of no use.
    return [*dict.fromkeys(found)] if any(line.split()[2] == suite for line in found) else []


def _own_suite() -> str | None:
    try:
        lines = OS_RELEASE.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    said = dict(line.split("=", 1) for line in lines if "=" in line)
    return (
        said.get("VERSION_CODENAME", "").strip('"') or None if said.get("ID") == "debian" else None
    )


def _is_debians(options: str) -> bool:
    """Tell whether an entry is signed by Debian: others have suites of the same name as well."""
    return "signed-by" not in options.lower() or "debian-archive" in options


def _entries() -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield options, address, suite and components of every entry."""
    for path in [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if path.suffix == ".list":
            for line in text.splitlines():
                if found := _ONE_LINE.match(line.partition("#")[0].strip()):
                    options, uri, suite, components = found.groups()
                    yield options or "", uri, suite, components.split()
        elif path.suffix == ".sources":
            for paragraph in re.split(r"\n\s*\n", text):
                yield from _paragraph(paragraph)


def _paragraph(text: str) -> Iterator[tuple[str, str, str, list[str]]]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\n\s+", " ", "\n".join(lines))
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in joined.splitlines())
    }
    if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes") == "no":
        return
    signed = f"signed-by={fields['signed-by']}" if "signed-by" in fields else ""
    for uri in fields.get("uris", "").split():
        for suite in fields.get("suites", "").split():
            yield signed, uri, suite, fields.get("components", "").split()
