"""What sessions, of trials and of task sets, do on a machine is done in one place each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/tare"
SESSION = "experiment/session"
#: Modules that may call something.
CALLERS = {
    # An instance is started with its agent.
    "platforms.start": {
        f"{SESSION}/pool.py", f"{SESSION}/drivers.py",
        "features/machine/fingerprint/measured_platform.py",
    },
    # An agent outside of a platform: next to it, or on a host of a network.
    "client.Agent": {f"{SESSION}/observer.py", f"{SESSION}/auxiliary.py", "platforms/stack.py"},
    "record.Trial": {f"{SESSION}/trial_job.py", f"{SESSION}/single_execution.py"},
    "journal.Writer": {f"{SESSION}/recorded_session.py"},
    "Pool": {f"{SESSION}/session.py", "features/tasks/instances.py"},
    "PendingAnswer": {f"{SESSION}/answers.py"},
}  # fmt: skip


def callers(name: str) -> set[str]:
    """Return the modules that call something by its name."""
    return {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    }


@pytest.mark.parametrize("name", CALLERS)
def test_it_is_called_where_it_belongs(name: str) -> None:
    assert callers(name) == CALLERS[name]
