#!/usr/bin/env python3
"""What of the JSON differs from an earlier commit, words apart: `since.py [COMMIT]`.

`mapping.toml` names the first recording, its words in today's, and where values differ for a reason
that `differences.md` tells. What is left is printed, a line each: there is to be nothing.
"""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MAPPING = tomllib.loads((HERE / "mapping.toml").read_text())


def values(found: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return every value that is no container, with its path; of a message, its text."""
    if isinstance(found, dict) and found.get("type") == "message":
        yield path, found["text"]
    elif isinstance(found, dict):
        for key, one in found.items():
            yield from values(one, f"{path}.{key}")
    elif isinstance(found, list):
        for i, one in enumerate(found):
            # A finding is the same wherever it stands among others.
            place = one["name"] if path.endswith(".findings") else i
            yield from values(one, f"{path}[{place}]")
    else:
        yield path, found


def mapped(value: Any) -> Any:
    """Put an earlier value into today's words; what is a sentence is no value."""
    if isinstance(value, float):
        return f"{value:.9g}"  # the last digits are those of the machine
    if not isinstance(value, str):
        return value
    value = re.sub(r" \(within [^)]*\)$", "", value)
    value = MAPPING["words"].get(value, value)
    return "…" if " " in value else value


def differing(commit: str) -> Iterator[str]:
    """Name each value that differs."""
    for path in sorted((HERE / "expected").rglob("*.json")):
        name = str(path.relative_to(HERE))
        done = subprocess.run(
            ["git", "show", f"{commit}:./{name}"], cwd=HERE, capture_output=True, check=False
        )
        if done.returncode:
            continue
        before, now = (dict(values(json.loads(t))) for t in (done.stdout, path.read_text()))
        for place in before.keys() | now.keys():
            known = f"{name}{place}"
            if any(fnmatch.fnmatchcase(known, one) for one in MAPPING["told"]):
                continue
            old, new = (mapped(one.get(place, "absent")) for one in (before, now))
            if old != new:
                yield f"{known}: {old!r} is {new!r}"


if __name__ == "__main__":
    found = sorted(differing(*(sys.argv[1:] or [MAPPING["first"]])))
    print("\n".join(found))
    sys.exit(bool(found))
