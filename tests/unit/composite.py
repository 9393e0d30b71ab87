"""Runs the scripts of GitHub workflows: of a composite Action, or of a job.

It knows as much of them as those of this repository use: `run` steps of bash and python, `env`
and outputs. It leaves out steps with `uses`, which are other people's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
    "python": [sys.executable],
}
_FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE")


@dataclass
class Done:
    """What the steps did."""

    code: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)


def load(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


def steps_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "runs" in document:
        return list(document["runs"]["steps"])
    return [step for job in document["jobs"].values() for step in job["steps"]]


def run(
    steps: Sequence[Mapping[str, Any]],
    contexts: Mapping[str, str],
    folder: Path,
    cwd: Path,
    env: Mapping[str, str],
) -> Done:
    """Run steps until one fails, as a runner would.

    Parameters
    ----------
    steps : sequence of mapping
    contexts : mapping
        Values of expressions in `env`: ``inputs.gate``. Others are empty, as on GitHub.
    folder : Path
        For the files of the runner.
    cwd : Path
        Where the repository is checked out.
    env : mapping
        All of the environment.
    """
    done, known = Done(), dict(contexts)

    def value(text: object) -> str:
        return _EXPRESSION.sub(lambda found: known.get(found[1], ""), str(text))

    for number, step in enumerate(steps):
        if "run" not in step:
            continue
        files = {name: folder / f"{name}-{number}" for name in _FILES}
        for file in files.values():
            file.touch()
        script = folder / f"step-{number}"
        script.write_text(step["run"])
        given = {name: value(text) for name, text in step.get("env", {}).items()}
        process = subprocess.run(
            [*_SHELLS[step["shell"]], str(script)], cwd=cwd, stdin=subprocess.DEVNULL,
            env={**env, **{name: str(file) for name, file in files.items()}, **given},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        done.log += process.stdout
        done.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        pairs = (one.partition("=") for one in files["GITHUB_OUTPUT"].read_text().splitlines())
        outputs = {name: text for name, _, text in pairs}
        if "id" in step:
            done.outputs[step["id"]] = outputs
            known |= {f"steps.{step['id']}.outputs.{name}": text for name, text in outputs.items()}
        if process.returncode:
            done.code = process.returncode
            break
    return done


def environment(temporary: Path, action: Path) -> dict[str, str]:
    """Return what a runner gives to steps."""
    return {
        **os.environ, "RUNNER_TEMP": str(temporary), "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64",
        "GITHUB_ACTION_PATH": str(action),
    }  # fmt: skip
