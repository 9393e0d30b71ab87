"""Git repositories whose commits need a known CPU time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "data" / "work.c"
BUILD = "cc -o work work.c"
#: CPU time of a run of the program.
CPU_NS = 10_000_000
#: About as much work: 20 to 40 ms.
LOOPS = 15_000_000
_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
}


def environment() -> dict[str, str]:
    """Return an environment in which git reads no settings of this machine."""
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return {**os.environ, **_IDENTITY, **own}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def work(slower: float = 0.0, *, real: bool = False, **macros: object) -> str:
    """Return a work.h.

    Parameters
    ----------
    slower : float
        CPU time relative to the usual one, less 1.
    real : bool
        The time is that of some work, instead of one by the program's own clock.
    **macros
        Further macros.
    """
    if real:
        macros |= {"CPU_NS": 0, "LOOPS": f"{round(LOOPS * (1 + slower))}L"}
    else:
        macros |= {"CPU_NS": f"{round(CPU_NS * (1 + slower))}LL"}
    return "".join(f"#define {name} {value}\n" for name, value in macros.items())


def make(folder: Path, commits: Sequence[Mapping[str, str]]) -> list[str]:
    """Make a repository with the branch main; return the hashes of its commits.

    Parameters
    ----------
    folder : Path
        That is to be made.
    commits : sequence of mapping
        Texts by file name, of what each commit changes. The first also has work.c.
    """
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    shutil.copy(PROGRAM, folder)
    hashes = []
    for number, files in enumerate(commits, 1):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", f"change {number}")
        hashes.append(git(folder, "rev-parse", "HEAD"))
    return hashes
