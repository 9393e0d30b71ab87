"""Stopping what one watches: Ctrl-C ends it with what there is."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import cli
import pytest

from tare.render.words import text
from tare.results.message import Message, message

pytestmark = pytest.mark.system

#: Trials that were shown.
SHOWN = re.compile(rb"n = ([0-9]+)")


def typed(words: list[str], until: int, key: bytes) -> tuple[int, str]:
    """Run it at a terminal, press a key when so many trials are shown; return code and text."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm", "COLUMNS": "120"}
        os.execv(cli.TARE[0], [*cli.TARE, *words])
    said, pressed = b"", False
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            said += chunk
            if not pressed and any(int(n) >= until for n in SHOWN.findall(said)):
                os.write(terminal, key)
                pressed = True
    finally:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
    assert pressed, said
    return code, said.decode()


def test_who_has_seen_enough_stops_it(tmp_path: Path) -> None:
    written = tmp_path / "run.json"
    # A steady machine reaches any larger target with 10 trials, before somebody has seen 12.
    often = ["--budget", "5 min", "--precision", "0.001%"]
    words = ["run", *often, "--json", str(written), "--", "sleep", "0.02"]
    code, said = typed(words, 12, b"\x03")
    assert code == 0, said
    kept = json.loads(written.read_text())["summary"]
    assert text(stopped(kept["n"])) in said
    assert kept["ended"] == "interrupted"
    assert kept["n"] >= 12
    assert kept["median_s"] >= 0.02
    # What was shown last is what is told.
    assert f"n = {kept['n']}" in said


def test_a_comparison_stops_as_well(tmp_path: Path) -> None:
    written = tmp_path / "compare.json"
    process = cli.start(
        "compare", "-n", "2000", "--json", str(written), "--out", str(tmp_path / "out"),
        "--no-fingerprint", "sleep 0.02", "sleep 0.02",
    )  # fmt: skip
    while process.poll() is None and ended(tmp_path / "out") < 30:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    told, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    assert text(stopped(ended(tmp_path / "out"), kept=True)) in told
    assert json.loads(written.read_text())["ended"] == "interrupted"


def test_who_is_told_to_end_does_so_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--budget", "5 min", "--out", str(out), "--no-fingerprint")
    process = cli.start("run", *words, "--", "true")
    while process.poll() is None and ended(out) < 3:
        time.sleep(0.1)
    process.terminate()
    told, complaints = process.communicate(timeout=60)
    assert (process.returncode, told) == (143, "")
    assert "interrupted" in complaints
    assert str(out) in complaints


def test_nothing_is_told_of_a_run_without_a_trial() -> None:
    process = cli.start("run", "--", "sleep", "60")
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    told, complaints = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "")
    assert "interrupted" in complaints


@pytest.mark.parametrize(
    ("module", "replaced", "told"),
    [
        (
            "tare.experiment.pipeline",
            "Prepared.results",
            ["measured is kept in {}", "experiment report {}"],
        ),
        ("tare.experiment.session.session", "weigh", ["interrupted before the first trial ended"]),
    ],
)
def test_what_is_kept_is_told_whenever_it_is_interrupted(
    module: str, replaced: str, told: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    script = (
        f"import signal, sys, {module}; from tare.wiring import main; "
        f"{module}.{replaced} = lambda *_, **__: signal.raise_signal(signal.SIGINT); "
        "sys.exit(main())"
    )
    words = ["compare", "-n", "3", "--no-fingerprint", "--out", str(out), "true", "true"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert all(
        one.format(out) in done.stderr for one in [*told, "  try: tare compare --resume -n 3"]
    )
    assert ("is kept" in done.stderr) == ("kept" in told[0])


def stopped(n: int, *, kept: bool = False) -> Message:
    return message(
        "stopped by hand after {% if asked %}{n} of {asked | counted('trial')}{% else %}"
        "{n | counted('trial')}{% endif %}{% if kept %}; --resume continues{% endif %}",
        asked=None,
        n=n,
        kept=kept,
    )


def ended(out: Path) -> int:
    texts = (path.read_text() for path in out.glob("journal/*.ndjson"))
    return sum(text.count('"record":"ended"') for text in texts)
