"""Make the input of a job in /data, and what its result has to be.

    prepare.py JOB MIB SCALE SEED

All is computed from the seed, so that it is the same wherever it is made. DuckDB makes tables, and
answers the queries of TPC-DS.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import zipfile
import zlib
from collections import Counter
from itertools import accumulate
from pathlib import Path

import numpy as np

HOME = Path(__file__).resolve().parent
#: As `jobs.py` has them.
ITERATIONS, CENTRES, DIMENSIONS, FEATURES, DAMPING = 5, 8, 10, 1 << 16, 0.85
WORDS, CLASSES = 10_000, 10
LINE = 100
#: Of a Parquet file, so that each of many tasks has some.
GROUP_ROWS = 20_480
PARTS = 16


def text(size: int, seed: int, labelled: bool = False) -> tuple[list[list[str]], list[int]]:
    """Return lines of words, of which few are frequent, and the class of each line."""
    draw = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(3, 10))) for _ in range(WORDS)]
    weights = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))
    lines, classes, total = [], [], 0
    while total < size:
        line = draw.choices(words, cum_weights=weights, k=12)
        one = draw.randrange(CLASSES) if labelled else 0
        if labelled:
            # Words of its class: a tenth of all.
            line[:4] = draw.choices(words[one::CLASSES], k=4)
        lines.append(line)
        classes.append(one)
        total += sum(map(len, line)) + len(line)
    return lines, classes


def write(data: Path, lines: list[bytes]) -> None:
    """Write lines to some files of about the same size."""
    folder = data / "input"
    folder.mkdir()
    for part in range(PARTS):
        some = lines[len(lines) * part // PARTS : len(lines) * (part + 1) // PARTS]
        (folder / f"part-{part:02}").write_bytes(b"".join(line + b"\n" for line in some))


def wordcount(data: Path, size: int, seed: int) -> dict:
    """Make text; the counts are Python's."""
    lines, _ = text(size, seed)
    write(data, [" ".join(line).encode() for line in lines])
    counts = Counter(word for line in lines for word in line)
    return {
        "words": len(counts),
        "total": counts.total(),
        "checksum": sum(zlib.crc32(word.encode()) * n for word, n in counts.items()),
    }


def sort(data: Path, size: int, seed: int) -> dict:
    """Make text; the check sorts it."""
    lines, _ = text(size, seed)
    write(data, [" ".join(line).encode() for line in lines])
    return {"lines": len(lines)}


def terasort(data: Path, size: int, seed: int) -> dict:
    """Make random lines of 100 bytes with keys that differ."""
    draw = random.Random(seed)
    printable = bytes(32 + value % 95 for value in range(256))
    lines = [draw.randbytes(LINE - 1).translate(printable) for _ in range(size // LINE)]
    if len({line[:10] for line in lines}) != len(lines):
        sys.exit("two lines have the same key: take another seed")
    write(data, lines)
    return {"lines": len(lines)}


def kmeans(data: Path, size: int, seed: int) -> dict:
    """Make points around centres."""
    draw = np.random.Generator(np.random.PCG64(seed))
    # So near to each other that no start of the iterations ends far above the least cost.
    centres = draw.uniform(-1, 1, (CENTRES, DIMENSIONS)) + 3 * np.eye(CENTRES, DIMENSIONS)
    of = draw.integers(CENTRES, size=size // (8 * DIMENSIONS))
    points = centres[of] + draw.standard_normal((len(of), DIMENSIONS))
    table(data, {f"x{n}": points[:, n] for n in range(DIMENSIONS)})
    # For the check, which does without DuckDB.
    np.save(data / "points.npy", points)
    return {"points": len(points), "cost": float(((points - centres[of]) ** 2).sum())}


def bayes(data: Path, size: int, seed: int) -> dict:
    """Make documents; the model is NumPy's."""
    lines, classes = text(size, seed, labelled=True)
    write(
        data,
        [f"{one}\t{' '.join(line)}".encode() for one, line in zip(classes, lines, strict=True)],
    )
    counts = np.zeros((CLASSES, FEATURES))
    words = {word for line in lines for word in line}
    places = {word: murmur(word.encode(), 42) % FEATURES for word in words}
    for one, line in zip(classes, lines, strict=True):
        for word in line:
            counts[one, places[word]] += 1
    likelihood = np.log(counts + 1) - np.log(counts.sum(axis=1, keepdims=True) + FEATURES)
    prior = np.log(np.bincount(classes, minlength=CLASSES) + 1) - np.log(len(lines) + CLASSES)
    return {
        "prior": prior.tolist(),
        "likelihood": likelihood.sum(axis=1).tolist(),
        "largest": likelihood.max(axis=1).tolist(),
    }


def murmur(data: bytes, seed: int) -> int:
    """Return MurmurHash3 of 32 bits, by which Spark places words; as signed as Java has it."""
    mask = 0xFFFFFFFF
    state = seed

    def mixed(block: int) -> int:
        block = block * 0xCC9E2D51 & mask
        block = (block << 15 | block >> 17) & mask
        return block * 0x1B873593 & mask

    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        state ^= mixed(int.from_bytes(data[at : at + 4], "little"))
        state = (state << 13 | state >> 19) & mask
        state = (state * 5 + 0xE6546B64) & mask
    if data[whole:]:
        state ^= mixed(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor & mask
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def pagerank(data: Path, size: int, seed: int) -> dict:
    """Make links; the ranks are NumPy's."""
    draw = np.random.Generator(np.random.PCG64(seed))
    links = size // 16
    pages = max(2, links // 8)
    # Every page links to some and is linked to; few of them by many.
    source = np.concatenate([np.arange(pages), draw.integers(pages, size=links - pages)])
    target = np.concatenate(
        [(np.arange(pages) + 1) % pages, (pages * draw.random(links - pages) ** 3).astype(np.int64)]
    )
    table(data, {"source": source, "target": target})
    degree = np.bincount(source, minlength=pages)
    rank = np.ones(pages)
    for _ in range(ITERATIONS):
        given = np.bincount(target, weights=(rank / degree)[source], minlength=pages)
        rank = 1 - DAMPING + DAMPING * given
    return {
        "pages": pages,
        "sum": float(rank.sum()),
        "squares": float((rank**2).sum()),
        "largest": float(rank.max()),
    }


def table(data: Path, columns: dict[str, np.ndarray]) -> None:
    """Write columns of numbers as Parquet, in some files."""
    duckdb = load_duckdb()
    folder = data / "input"
    folder.mkdir()
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    for part in range(PARTS):
        some = {
            name: np.ascontiguousarray(c[len(c) * part // PARTS : len(c) * (part + 1) // PARTS])
            for name, c in columns.items()
        }
        connection.register("part", some)
        connection.execute(
            f"copy (select * from part) to '{folder}/part-{part:02}.parquet' "
            f"(format parquet, compression uncompressed, row_group_size {GROUP_ROWS})"
        )


def tpcds(data: Path, scale: float) -> dict:
    """Make the tables, and DuckDB's answers to all queries."""
    import answers

    connection = load_duckdb().connect()
    connection.execute(f"set temp_directory = '{data}/temporary'")
    connection.execute(f"call dsdgen(sf = {scale})")
    for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall():
        connection.execute(f"copy {name} to '{data}/{name}.parquet' (format parquet)")
    queries = dict(connection.execute("select query_nr, query from tpcds_queries()").fetchall())
    (data / "queries.json").write_text(json.dumps(queries))
    folder = data / "answers"
    folder.mkdir()
    for number, query in sorted(queries.items()):
        answer = answers.answer(connection, query)
        (folder / f"{number}.json").write_text(json.dumps(answer))
    return {"queries": len(queries)}


def load_duckdb():
    """Return the module, which is a wheel that no trial needs."""
    try:
        import duckdb
    except ImportError:
        zipfile.ZipFile(next(HOME.glob("duckdb-*.whl"))).extractall("/tmp/duckdb")
        sys.path.append("/tmp/duckdb")
        import duckdb
    return duckdb


def digest(data: Path) -> str:
    """Return the SHA-256 of all of the input, which `check.py` computes again."""
    found = hashlib.sha256()
    for path in sorted([*data.glob("input/*"), *data.glob("*.parquet")]):
        found.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
    return found.hexdigest()


JOBS = {one.__name__: one for one in (wordcount, sort, terasort, kmeans, bayes, pagerank)}


def main() -> None:
    """Do what the arguments say."""
    job, size, scale, seed = sys.argv[1:5]
    data = Path(sys.argv[5] if len(sys.argv) > 5 else "/data")
    facts = (
        tpcds(data, float(scale)) if job == "tpcds"
        else JOBS[job](data, int(size) << 20, int(seed))
    )  # fmt: skip
    facts = {"job": job, "sha256": digest(data), **facts}
    (data / "facts.json").write_text(json.dumps(facts))
    (data / "sha256").write_text(facts["sha256"])


if __name__ == "__main__":
    main()
