"""Scripts that call hyperfine: the line of tare that stands beside each does the same.

Both lines of ``docs/how-to/from-hyperfine.md`` are executed as they stand there, with programs that
write down how they were called.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cli
import pytest

from tare.readers import read

pytestmark = pytest.mark.system

DOCUMENT = Path(__file__).parents[2] / "docs/how-to/from-hyperfine.md"
#: Writes down its name, words, some of its environment, and what it reads; SLOW takes longer.
#: Sleeps, since hyperfine repeats it for three seconds.
STUB = """#!/bin/sh
said=$(basename "$0")
for word; do said="$said [$word]"; done
[ -z "$OMP_NUM_THREADS" ] || said="$said threads=$OMP_NUM_THREADS"
read -r input
[ "$SLOW" = "${0##*/}" ] && sleep 0.15 || sleep 0.05
printf '%s <%s>\\n' "$said" "$input" >> "$LOG"
exit ${EXITS:-0}
"""


@dataclass(frozen=True)
class Script:
    """What a script has around its line.

    Attributes
    ----------
    programs : tuple of str
        That it calls, by name or path.
    variables : dict
        Of its shell.
    before : str
        Lines for bash.
    results : str or None
        The JSON that it reads afterwards.
    code : int
        That tare's line ends with.
    calls : int
        Different ways in which programs are called.
    """

    programs: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    before: str = ""
    results: str | None = None
    code: int = 0
    calls: int = 2


#: Up to half a minute each, of one program in many settings or of lines like others'.
LONG = {"From one thread to eight", "How a program scales", "Two builds, and a threshold"}
SCRIPTS = {
    "Two builds, and a threshold": Script(
        ("base-sel", "head-sel"),
        {"BASE_BIN": "base-sel", "HEAD_BIN": "head-sel", "args": "-d , 1"},
        results="/tmp/result.json",
    ),
    "Three lists": Script(
        ("bin/prepare.js", "bin/execute.js"),
        {"warmup": "1", "runs": "3", "benchmarks": "clean,lock", "fixtures": "vue,angular",
         "managers": "npm,yarn", "EXITS": "0"},
        results="results.json",
        calls=16,
    ),
    "One file for each version": Script(
        ("s4",),
        {"hyperfine": "hyperfine", "HRUNS": "3", "json1": "one.json", "BIN_NAME": "s4 0.7",
         "S4": "s4", "after_dt": "2020", "befor_dt": "2024"},
        before="files=(a.log b.log)",
        results="one.json",
        calls=1,
    ),
    "Pipes, and a list": Script(
        ("target/release/examples/genfixture", "target/release/headson"),
        {"WARMUP": "1", "RUNS": "3", "OUT_PIPE_JSON": "pipe.json", "BUDGETS_STR": "100,1000",
         "COUNT": "5", "GEN_SEED": "1", "TEMPLATE": "json"},
        results="pipe.json",
        calls=3,
    ),
    "Whole commands as the parameter": Script(
        ("stak", "gsi"),
        {"output_directory": "out", "base": "fib/main.scm", "scripts": "stak main.scm,gsi main.scm",
         "reference": ""},
        before="mkdir -p out bench/fib; echo '(display 1)' > compile.scm; cd bench/fib; "
        "mkdir -p out",
        results="bench/fib/out/fib.json",
    ),
    "How a program scales": Script(
        ("cmake", "build/openmp/OMPInOneWeekend"),
        results="omp_outer_dynamic_cyclic.json",
        calls=34,
    ),
    "A regression test": Script(
        ("local", "released"),
        {"local_cmd": "./local", "released_cmd": "./released", "MIN_RUNS": "3",
         "BENCH_RESULTS_FILE_PATH": "results.md", "SLOW": "local"},
        code=1,
    ),
    "Two builds on a cold cache": Script(
        ("fd-master", "fd-feature", "reset"),
        {"RESET_CACHES": "./reset", "FD1": "./fd-master", "FD2": "./fd-feature",
         "SEARCH_ROOT": "/home/some one", "RESULT_DIR": "results"},
        before="mkdir -p results",
        results="results/07-simple-pattern-cold-cache.json",
        calls=3,
    ),
    "A build from scratch": Script(
        ("dune",),
        {"command": "dune build 2> /dev/null", "clean_command": "dune clean"},
        results="bench.json",
    ),
    "A random input": Script(
        ("ysieve",),
        {"COMMAND": "ysieve", "bits": "90", "EXITS": "3"},
        before="echo 15 > testinputs90.txt",
        calls=1,
    ),
    "From one thread to eight": Script(("poisson",), results="benchmark.json", calls=8),
    "Everything around a run": Script(
        ("perf", "s", "p", "c", "e"),
        {"TMP_DATADIR": "data", "UTXO_PATH": "utxo", "connect_address": "::1", "chain": "main",
         "results_file": "results.json", "base_commit": "1a", "head_commit": "2b",
         "stop_at_height": "855000"},
        before="""
        setup_assumeutxo_snapshot_run() { s "$@"; }; export -f setup_assumeutxo_snapshot_run
        prepare_assumeutxo_snapshot_run() { p "$@"; }; export -f prepare_assumeutxo_snapshot_run
        conclude_assumeutxo_snapshot_run() { c "$@"; }; export -f conclude_assumeutxo_snapshot_run
        cleanup_assumeutxo_snapshot_run() { e "$@"; }; export -f cleanup_assumeutxo_snapshot_run
        """,
        results="results.json",
        calls=7,
    ),
}  # fmt: skip


def sections() -> Iterator[tuple[str, str, str]]:
    """Give the title of each script, hyperfine's line and tare's."""
    _, *texts = re.split(r"^### ", DOCUMENT.read_text(), flags=re.MULTILINE)
    for text in texts:
        theirs, ours = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        yield text.splitlines()[0], theirs, ours


def test_every_script_of_the_document_is_executed() -> None:
    titles = [title for title, *_ in sections()]
    assert len(titles) >= 10
    assert all(sum(t.startswith(key) for key in SCRIPTS) == 1 for t in titles)
    assert len(SCRIPTS) == len(titles)


def executed(
    folder: Path, script: Script, lines: str
) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """Run lines where the script's programs are; return how they ended and what was called."""
    folder.mkdir()
    for program in script.programs:
        file = folder / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STUB)
        file.chmod(0o755)
    log = folder / "log"
    done = subprocess.run(
        ["bash", "-c", f"{script.before}\n{lines}"],
        cwd=folder,
        env={
            "PATH": f"{folder}:{cli.program().parent}:{os.environ['PATH']}", "HOME": str(folder),
            "LOG": str(log), "COLUMNS": "200", **script.variables,
        },
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done, set(log.read_text().splitlines()) if log.exists() else set()


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=[pytest.mark.slow] if key in LONG else []) for key in SCRIPTS],
)
def test_the_line_of_tare_does_the_same(key: str, tmp_path: Path) -> None:
    script = SCRIPTS[key]
    _, theirs, ours = next(one for one in sections() if one[0].startswith(key))
    if script.results is not None and script.results.startswith("/tmp/"):
        # The script's own place; ours is of this test.
        place = str(tmp_path / "result.json")
        theirs, ours = (text.replace(script.results, place) for text in (theirs, ours))
        script = Script(**{**vars(script), "results": place})

    done, called = executed(tmp_path / "ours", script, ours)
    assert "Traceback" not in done.stderr
    assert (
        done.returncode in (script.code, 1, 2)
        if "--gate" in ours and script.code == 0
        else (done.returncode == script.code)
    ), done.stderr
    assert len(called) == script.calls, called
    if shutil.which("hyperfine"):
        before, expected = executed(tmp_path / "theirs", script, theirs)
        # An older one lacks some of the options.
        if before.returncode == 0:
            assert called == expected
        else:
            assert "error: " in before.stderr
            assert "argument" in before.stderr
    if script.results is not None:
        _read_back(tmp_path / "ours" / script.results)


def _read_back(file: Path) -> None:
    """What scripts read is there, and other tools' readers take it for hyperfine's."""
    document = json.loads(file.read_text())
    for result in document["results"]:
        assert result["min"] <= result["median"] <= result["max"]
        assert len(result["times"]) == len(result["exit_codes"])
        assert {"command", "mean", "stddev", "user", "system"} <= result.keys()
    assert len(read(file).series) == len(document["results"])
