"""SIGCHLD that is ignored: the command sets its default, the library refuses."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tare.agent.client import ProcessChannel
from tare.errors import AgentError


def test_library_refuses_a_process_that_ignores_its_children() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(AgentError, match=r"signal\.signal\(signal\.SIGCHLD, signal\.SIG_DFL"):
            ProcessChannel(["true"])
        assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_command_sets_the_default_that_it_did_not_inherit() -> None:
    code = (
        "import signal, sys; sys.argv = ['tare', '--version']; from tare.__main__ import main; "
        "main(); sys.exit(signal.getsignal(signal.SIGCHLD) is not signal.SIG_DFL)"
    )
    ignoring = ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh", sys.executable, "-c", code]
    assert subprocess.run(ignoring, check=False).returncode == 0
