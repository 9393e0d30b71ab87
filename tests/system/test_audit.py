"""``tare audit`` as people call it: published answers, exit codes, its page in a browser."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import chromium
import cli
import numpy as np
import pytest

from tare.wiring import enter

DATA = Path(__file__).parents[1] / "data"
STABILITY = DATA / "stability_2020"
BY_PLATFORM = ("--group", "workload,workers", "--compare", "platform")
INVERSE = {"lesser": "higher", "higher": "lesser"}
NEWLINE = "\n"


def tare(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return cli.run("audit", *map(str, words))


def in_process(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Call the command line without starting Python anew, for what ends early."""
    out, err = io.StringIO(), io.StringIO()
    asked = ["tare", "audit", *map(str, words)]
    with mock.patch.object(sys, "argv", asked), redirect_stdout(out), redirect_stderr(err):
        code = enter()
    return subprocess.CompletedProcess(asked, code, out.getvalue(), err.getvalue())


def told(*words: str | Path, code: int) -> dict[str, Any]:
    done = tare(*words, "--json", "-")
    assert done.returncode == code, done.stdout[-2000:] + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(folder: Path, values: Any, name: str = "results.csv", column: str = "wall_s") -> Path:
    file = folder / name
    rows = [f"{i},{v}" for i, v in enumerate(values)]
    file.write_text(NEWLINE.join([f"run,{column}", *rows]) + NEWLINE)
    return file


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the page and the JSON of one audit."""
    folder = tmp_path_factory.mktemp("written")
    files = ("--report", folder / "audit.html", "--json", folder / "audit.json")
    done = tare(STABILITY / "exp_float.csv", "--value", "cpu_s", *BY_PLATFORM, *files)
    assert done.returncode == 1, done.stderr
    return folder


@pytest.fixture(scope="module")
def stability(written: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((written / "audit.json").read_text())
    return found


def test_all_published_cells_come_out_of_the_json(stability: dict[str, Any]) -> None:
    right = 0
    with (STABILITY / "published.csv").open() as source:
        for row in csv.DictReader(source):
            pair = {row["first"], row["second"]}
            (c,) = [
                c
                for c in stability["pairs"]
                if c["key"]["workers"] == row["workers"] and {c["a"], c["b"]} == pair
            ]
            word = c[row["statistic"]]
            right += row["word"] == (word if c["a"] == row["first"] else INVERSE.get(word, word))
    assert right == 24


def test_the_first_line_says_that_a_precision_was_missed(tmp_path: Path) -> None:
    file = table(tmp_path, np.random.default_rng(4).lognormal(0, 0.6, 20))
    for words, code in (((), 1), (("--precision", "1%"), 1), (("--precision", "50%"), 0)):
        done = in_process(file, "--trial", "run", *words)
        assert done.returncode == code
        first, *rest = done.stdout.splitlines()
        assert sum(line.strip().startswith("results.csv (table) ") for line in rest) == 1
        if words == ("--precision", "50%"):
            assert first.startswith("TRUST   to ± 35 % in this session")
        else:
            more = int(first.split("about ")[1].split(" more runs")[0].replace(",", ""))
            assert first.startswith("DOUBT   ± 35 %: about ")
            (runs,) = (line.split("≈ ")[1].split()[0] for line in rest if "  DOUBT" in line)
            assert more == pytest.approx(int(runs.replace(",", "")) - 20, rel=0.1)


def test_what_is_compared_and_explained_is_all_there(stability: dict[str, Any]) -> None:
    assert len(stability["series"]) == 24
    assert len(stability["pairs"]) == 4 * 15
    (variance,) = [
        one["finding"]
        for one in stability["sections"]
        if one["finding"]["name"].startswith("variance")
    ]
    shares = {row["effect"]: row["share"] for row in variance["tables"][0]["rows"]}
    assert {"workers", "platform", "workers × platform"} < set(shares)
    assert sum(shares.values()) == pytest.approx(100)


def test_a_container_on_few_cores_stands_out_and_pinning_removes_it() -> None:
    found = told(DATA / "dnn_virt" / "facenet.csv", "--value", "exec_time_s",
                 "--group", "cores,mode", "--compare", "platform", code=1)  # fmt: skip
    ratios = {(c["key"]["cores"], c["key"]["mode"], c["a"], c["b"]): c for c in found["pairs"]}
    assert ratios["2", "vanilla", "BM", "CN"]["ratio"] > 100
    assert ratios["2", "vanilla", "BM", "CN"]["verdict"] == "slower"
    assert ratios["2", "pinned", "CN", "VM"]["ratio"] == pytest.approx(1, abs=0.4)


def test_the_worst_series_decides_the_exit_code(tmp_path: Path) -> None:
    clean = np.random.default_rng(1).normal(1, 0.01, 60)
    clean_file = table(tmp_path, clean)
    assert in_process(clean_file, "--value", "wall_s", "--trial", "run").returncode == 0
    # A column called run numbers executions, one called row does not.
    assert in_process(clean_file, "--value", "wall_s").returncode == 0
    rows = tmp_path / "rows.csv"
    rows.write_text(clean_file.read_text().replace("run,", "row,"))
    assert in_process(rows, "--value", "wall_s").returncode == 1
    assert in_process(table(tmp_path, [1.0, 2.0], "two.csv"), "--value", "wall_s").returncode == 2
    corrupt = table(tmp_path, [*clean, "nan", "inf", -3], "corrupt.csv")
    done = in_process(corrupt, "--value", "wall_s", "--trial", "run")
    assert done.returncode == 2
    assert "lines 62 and 63" in done.stdout
    assert "negative" in done.stdout


def hostile(folder: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    yield folder / "nowhere.csv", ()
    yield folder, ()
    for name, content in {
        "empty.csv": "",
        "header.csv": "wall_s\n",
        "words.csv": "wall_s\nfast\nslow\n",
        "cut.json": '{"results": [{"command": "a", "times": [1.0, ',
        "other.json": '{"a": 1}',
        "wide.csv": ",".join(map(str, range(1_000_000))) + "\n",
    }.items():
        (folder / name).write_text(content)
        yield folder / name, ()
    yield table(folder, [1.0] * 9), ("--value", "nope")
    yield table(folder, [1.0] * 9), ("--value", "wall_s", "--compare", "nope")
    yield table(folder, [1.0] * 9), ("--value", "wall_s", "--precision", "much")
    yield table(folder, [1.0] * 9), ("--value", "wall_s", "--quantile", "p100")
    yield table(folder, [1.0] * 9), ("--value", "wall_s", "--format", "nope")
    yield table(folder, [1.0] * 9), ("--value", "wall_s", "--report", str(folder / "page.pdf"))


def test_what_nothing_can_be_concluded_from_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    for file, options in hostile(tmp_path):
        done = in_process(file, *options)
        assert done.returncode >= 10, (file, options, done.stdout)
        assert "Traceback" not in done.stderr, file
        assert done.stderr.startswith("tare: "), file
        assert re.search("^  (try|hint): ", done.stderr, re.MULTILINE), file


def test_keys_of_other_formats_can_be_compared() -> None:
    file = DATA / "interop" / "hyperfine" / "runs.json"
    found = told(file, "--compare", "command", code=0)
    (c,) = found["pairs"]
    assert c["verdict"] in ("faster", "slower")
    assert found["series"][0]["trials_known"]


def test_two_files_can_be_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    files = [table(tmp_path, rng.normal(m, 0.01, 40), f"{m}.csv") for m in (1.0, 1.2)]
    found = told(*files, "--value", "wall_s", "--trial", "run", "--compare", "file", code=0)
    (c,) = found["pairs"]
    assert (c["a"], c["b"], c["verdict"]) == ("1.0.csv", "1.2.csv", "slower")


def test_blocks_pair_what_the_order_of_the_rows_hides(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for block in range(60):
        weather = rng.normal(1, 0.2)
        rows += [f"{side},{block},{weather * level * rng.normal(1, 0.002):.6f}"
                 for side, level in (("a", 1), ("b", 1.03))]  # fmt: skip
    file = tmp_path / "blocks.csv"
    file.write_text(NEWLINE.join(["side,block,wall_s", *rng.permutation(rows)]) + NEWLINE)
    asked = (file, "--value", "wall_s", "--compare", "side")
    (apart,) = told(*asked, code=1)["pairs"]
    (paired,) = told(*asked, "--block", "block", code=1)["pairs"]
    assert (apart["paired"], apart["verdict"]) == ("not", "inconclusive")
    assert (paired["paired"], paired["verdict"]) == ("by block", "slower")
    assert paired["ratio"] == pytest.approx(1.03, abs=0.002)


def test_the_screen_stays_small_for_hundreds_of_series(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = [f"{g},{v:.6f}" for g in range(300) for v in rng.normal(1, 0.01, 8)]
    file = tmp_path / "many.csv"
    file.write_text(NEWLINE.join(["case,wall_s", *rows]) + NEWLINE)
    done = tare(file, "--value", "wall_s", "--group", "case")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) < 30
    assert done.stdout.count("--trial COLUMN") == 1
    assert "more series" in done.stdout


def test_the_same_seed_gives_the_same_audit() -> None:
    asked = (DATA / "interop" / "hyperfine" / "runs.json", "--compare", "command")
    assert told(*asked, code=0) == told(*asked, code=0)


def test_two_raters_are_told_their_agreement(tmp_path: Path) -> None:
    for name, last in (("a", "yes"), ("b", "no")):
        (tmp_path / f"{name}.csv").write_text(f"mean\nyes\nno\nyes\nno\n{last}\n")
    done = in_process("--kappa", tmp_path / "a.csv", tmp_path / "b.csv", "--json", "-")
    assert done.returncode == 0
    (found,) = json.loads(done.stdout)["kappa"]
    assert found["kappa"] == pytest.approx(0.615, abs=0.001)


CHARTS = "[...document.querySelectorAll('.chart')]"


@pytest.fixture(scope="module")
def page(written: Path) -> Path:
    return written / "audit.html"


@pytest.mark.system
@pytest.mark.skipif(chromium.binary() is None, reason="Chromium is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_the_page_draws_every_chart_and_never_scrolls_sideways(
    page: Path, scheme: str, size: tuple[int, int]
) -> None:
    with chromium.Browser() as browser:
        browser.show(page, *size, scheme=scheme)
        assert browser.ask(f"{CHARTS}.length") >= 7
        assert browser.ask(f"{CHARTS}.every(c => c.dataset.drawn === 'yes')")
        wide = f"{CHARTS}.filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.dataset.spec)"
        assert browser.ask(wide) == []
        assert browser.ask("document.documentElement.scrollWidth") <= size[0]
        assert browser.ask("document.querySelector('.first').getBoundingClientRect().bottom") < 844
        assert browser.ask("document.querySelector('.lead .badge').innerText").endswith("DOUBT")
        assert browser.complaints == []
        assert browser.requests == [page.resolve().as_uri()]


@pytest.mark.parametrize("words", [(), ("--json", "-")])
def test_a_reader_that_leaves_changes_no_verdict(words: tuple[str, ...], tmp_path: Path) -> None:
    rows = "".join(f"{i},{'nan' if i == 3 else 1 + i % 7}\n" for i in range(40))
    file = tmp_path / "a.csv"
    file.write_text(f"run,t_s\n{rows}")
    page = tmp_path / "a.html"
    asked = [str(cli.program()), "audit", str(file), "--value", "t_s", "--trial", "run",
             "--report", str(page)]  # fmt: skip
    started = subprocess.Popen([*asked, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.close()
    said = started.communicate(timeout=240)[1]
    # Where standard output has the JSON, standard error says where the page is.
    where = f"Report: {page}\n".encode() if words else b""
    assert (started.returncode, said) == (2, where)
    assert page.exists()
