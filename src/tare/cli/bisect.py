"""Exit codes for ``git bisect run``: what a comparison shows of the commit that is checked out.

git takes 0 as good, 125 as "cannot be tested", any other code below 128 as bad, and stops at codes
from 128 on. Codes of errors, such as a wrong option, would call commits bad.
"""

from __future__ import annotations

from collections.abc import Container

from tare.errors import BuildError, IncompleteError, TrialError
from tare.results.verdict import GATE_CODES

#: For git bisect: this commit cannot be tested.
SKIP = 125
#: What codes of errors are raised by, so that git bisect stops.
_STOP = 128
#: Codes of a candidate of which nothing can be measured here, although others may be measured.
_UNTESTABLE = frozenset(
    {
        GATE_CODES["inconclusive"], TrialError.exit_code, IncompleteError.exit_code,
        BuildError.exit_code,
    }
)  # fmt: skip

#: Whether this process ends with the exit codes of git bisect.
_asked = [False]


def remember(typed: Container[str]) -> None:
    """Record whether ``--bisect`` was typed, before other options can be refused."""
    _asked[0] = "bisect" in typed


def exit_code(code: int) -> int:
    """Translate an exit code of tare; others than those for git bisect stay as they are."""
    if not _asked[0] or code >= _STOP or code == GATE_CODES["pass"]:
        return code
    if code in _UNTESTABLE:
        return SKIP
    return code if code == GATE_CODES["fail"] else _STOP + code
