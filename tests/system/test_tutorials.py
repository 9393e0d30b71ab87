"""The README and the tutorials are executed as they stand, only for a shorter time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cli
import documents
import pytest

from tare import platforms
from tare.errors import TareError
from tare.experiment import remnants
from tare.host import lease
from tare.networks.emulator import Emulator

pytestmark = pytest.mark.system

#: Pages of three quarters of a minute; the README has the like of what they do.
LONG = {"benchmark-author", "judge-operator"}
#: Verdicts, and that the machine changed meanwhile, which is none of the documents' fault.
FINE = {0, 1, 2, 17}
#: Stands for tare: asks for less of the same, and writes down what was typed and how it ended.
SHORTENED = """#!{python} -ISE
import json, os, subprocess, sys
from pathlib import Path

words = sys.argv[1:]
own = words[: words.index("--")] if "--" in words else words
more = []
if own[0] in ("run", "compare"):
    option, less = ("--budget", "1s") if "--precision" in own else ("-n", "3")
    if option in own:
        words[own.index(option) + 1] = less
    elif "--trials" not in own:
        more = [option, less]
if own[0] == "doctor":
    more = ["--quick"]
if own[:2] == ["experiment", "run"]:
    words = ["experiment", "plan", *[w for w in own[2:3]]]
long = own[0] in ("selftest", "cleanup", "calibrate", "net", "fingerprint")
long = long and not any(w in own for w in ("diff", "--new-key"))
made = all(Path(w).exists() for w in own[2:3] if own[:2] == ["experiment", "report"])
made = made and all(Path(w).exists() for w in own[1:2] if own[0] == "export")
if long or not made:
    code = 0
else:
    words = [{tare!r}, words[0], *more, *words[1:]]
    code = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], code, not long and made]) + "\\n")
sys.exit(code)
"""
#: Stand for what the pages call besides.
STUBS = {
    "make": "#!/bin/sh\nexit 0\n",
    "sudo": '#!/bin/sh\nexec "$@"\n',
    "hyperfine": "#!/bin/sh\nexec tare run --export-json results.json 'sleep .01' 'sleep .02'\n",
}


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    """Skip where not even namespaces can be had: the pages say that they need them."""
    found = platforms.availability("unshare")
    if not found.works:
        pytest.skip(f"unshare: {found.why}")
    name = lease.new_name()
    try:
        with remnants.lease(name), Emulator(name, hosts=2) as emulator:
            emulator.look()
    except TareError as error:
        pytest.skip(f"no network can be made here: {error}")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else [])
        for page in documents.EXECUTED
    ],
)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    programs, folder, log = tmp_path / "programs", tmp_path / "folder", tmp_path / "log"
    programs.mkdir()
    folder.mkdir()
    (folder / "examples").symlink_to(documents.ROOT / "examples")
    values = {"python": sys.executable, "tare": str(cli.program()), "log": str(log)}
    shortened = SHORTENED.format(**values)
    for name, text in {**STUBS, "tare": shortened}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    blocks = [b for b in documents.blocks(page) if b.language in documents.SHELLS]
    script = "\n".join(b.script for b in blocks if b.not_run is None)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **environment, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    called = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(executed for *_, executed in called) >= 2, called
    assert {tuple(words): code for words, code, _ in called if code not in FINE} == {}, done.stderr
    # An exit code of 1 is a verdict as well.
    assert "Traceback" not in done.stderr
    assert "command not found" not in done.stderr
    assert "No such file" not in done.stderr
