"""How far are a harness's figures from what the command says of itself?

A spinner burns 100 ms of CPU and logs its own wall and CPU time; each harness measures it alone,
two and four at once. Harness minus self is the harness's error: its median is what the harness
adds, its spread is what it makes of the machine's noise. Cells of both harnesses alternate, so
that both see the same machine.

    .venv/bin/python benchmarks/accuracy.py [--runs 40] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TARE = HERE.parent / ".venv/bin/tare"
PARALLEL = (1, 2, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40, help="executions per cell and round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spin = build(Path(folder))
        errors: dict[tuple[str, int], list[np.ndarray]] = {}
        for turn in range(options.rounds):
            for side_by_side in PARALLEL:
                harnesses = [tare, hyperfine]
                for harness in harnesses if turn % 2 else harnesses[::-1]:
                    found = measure(harness, spin, side_by_side, options.runs, Path(folder))
                    errors.setdefault((harness.__name__, side_by_side), []).append(found)
    report({key: np.concatenate(found) for key, found in errors.items()})


def build(folder: Path) -> Path:
    spin = folder / "spin"
    subprocess.run(["cc", "-O2", "-static", "-o", spin, HERE / "spin.c"], check=True)
    return spin


def measure(harness, spin: Path, side_by_side: int, runs: int, folder: Path) -> np.ndarray:
    """Return wall and CPU error in ms, shape (runs × side_by_side, 2); CPU is NaN where absent."""
    each = max(6, runs // side_by_side)
    started = [harness(spin, each, folder / f"{i}") for i in range(side_by_side)]
    found = []
    for process, log, results in started:
        _, said = process.communicate()
        if process.returncode:
            raise SystemExit(f"{harness.__name__}: {said}")
        own = np.loadtxt(log) / 1e6
        found.append(results() * 1e3 - own)
        log.unlink()
    return np.concatenate(found)


def hyperfine(spin: Path, runs: int, stem: Path):
    log, out = stem.with_suffix(".log"), stem.with_suffix(".json")
    command = ["hyperfine", "-N", "--style=none", "--runs", str(runs), "--export-json", str(out)]
    process = start([*command, f"{spin} 100 {log}"])

    def results() -> np.ndarray:
        wall = np.array(json.loads(out.read_text())["results"][0]["times"])
        return np.column_stack([wall, np.full(len(wall), np.nan)])

    return process, log, results


def tare(spin: Path, runs: int, stem: Path):
    log, out = stem.with_suffix(".log"), stem.with_suffix(".json")
    process = start(
        [str(TARE), "run", "-n", str(runs), "--json", str(out), "--", str(spin), "100", str(log)]
    )

    def results() -> np.ndarray:
        trials = json.loads(out.read_text())["trials"]
        return np.array([[t["wall_s"], t["sources"]["cpu_ns"]["rusage"] / 1e9] for t in trials])

    return process, log, results


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def report(errors: dict[tuple[str, int], np.ndarray]) -> None:
    print("wall error (harness − self), ms; robust SD = 1.4826 MAD")
    columns = (
        "at once",
        "harness",
        "n",
        "median",
        "robust SD",
        "SD",
        "p99",
        "CPU median",
        "CPU SD",
    )
    print(" ".join(f"{column:>10}" for column in columns))
    for side_by_side in PARALLEL:
        for name in ("hyperfine", "tare"):
            wall, cpu = errors[name, side_by_side].T
            figures = (np.median(wall), robust_sd(wall), wall.std(ddof=1), np.quantile(wall, 0.99))
            figures += (np.median(cpu), cpu.std(ddof=1))
            row = [f"{side_by_side:>10} {name:>10} {len(wall):>10}"]
            print(" ".join(row + [f"{figure:>10.3f}" for figure in figures]))
        ratio = [errors["tare", side_by_side][:, 0], errors["hyperfine", side_by_side][:, 0]]
        print(
            f"{'':>8} tare/hyperfine: median {np.median(ratio[0]) / np.median(ratio[1]):.2f}, "
            f"robust SD {robust_sd(ratio[0]) / robust_sd(ratio[1]):.2f}, "
            f"SD {ratio[0].std(ddof=1) / ratio[1].std(ddof=1):.2f}"
        )


def robust_sd(values: np.ndarray) -> float:
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


if __name__ == "__main__":
    main()
