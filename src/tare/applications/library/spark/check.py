"""Exit with 0 if the result of a job is right, else say why not.

    check.py [RESULT [DATA]]

What `prepare.py` computed, or what is computed here from the input, is compared with what Spark
computed.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from pathlib import Path

import answers

#: Sums of floating-point numbers depend on their order.
RELATIVE = 1e-9
#: Largest ratio of a good result's cost to that of the centres around which the points were made.
GOOD = 1.5


def wrong(data: Path, result: dict) -> str | None:
    """Return why a result is not right; None: it is."""
    from prepare import digest

    facts = json.loads((data / "facts.json").read_text())
    if digest(data) != facts["sha256"]:
        return "the input is not what was made"
    job = facts["job"]
    if job == "tpcds":
        expected = json.loads((data / f"answers/{result['query']}.json").read_text())
        return answers.difference(expected, result["kinds"], result["rows"])
    if job in ("sort", "terasort"):
        return _unsorted(data, result)
    if job == "kmeans":
        return _bad_centres(data, result, facts)
    return next(
        (
            f"{key} is {result.get(key)}, not {value}"
            for key, value in facts.items()
            if key not in ("job", "sha256") and not _alike(result.get(key), value)
        ),
        None,
    )


def _alike(one, other) -> bool:
    if isinstance(other, list):
        return isinstance(one, list) and len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(other, float):
        return isinstance(one, int | float) and math.isclose(one, other, rel_tol=RELATIVE)
    return one == other


def _unsorted(data: Path, result: dict) -> str | None:
    """Compare what is where with the input, sorted here; lines are bytes, as Spark sorts them."""
    lines = sorted(
        line for path in (data / "input").iterdir() for line in path.read_bytes().split(b"\n")[:-1]
    )
    at = 0
    for number, (count, checksum) in enumerate(result["parts"]):
        some = lines[at : at + count]
        found = sum(place * zlib.crc32(line) for place, line in enumerate(some, 1))
        # As Java adds them.
        if (found - checksum) % (1 << 64):
            return f"part {number} is not sorted, or of other lines"
        at += count
    return None if at == len(lines) else f"{at} lines, not {len(lines)}"


def _bad_centres(data: Path, result: dict, facts: dict) -> str | None:
    import numpy as np

    points = np.load(data / "points.npy", mmap_mode="r")
    centres = np.array(result["centres"])
    apart = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
    cost, before = float(apart.min(axis=0).sum()), result["cost"]
    # Spark reports the cost before the last iteration, which never raises it and, as five do not
    # converge from every start, may lower it by any amount.
    if cost > before * (1 + RELATIVE):
        return f"cost {before}, but the centres have {cost}"
    if cost > GOOD * facts["cost"]:
        return f"cost {cost}, but {facts['cost']} is possible"
    return None


def main() -> None:
    """Do what the arguments say."""
    result = Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp/result.json")
    data = Path(sys.argv[2] if len(sys.argv) > 2 else "/data")
    why = wrong(data, json.loads(result.read_text()))
    if why is not None:
        sys.exit(why)


if __name__ == "__main__":
    main()
