"""systemd's scopes, with a stand-in for systemd-run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tare.platforms import Place, scope

NAME = "tare-0123ab-0"


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put a script in the place of systemd-run."""
    monkeypatch.setattr(scope, "RUNNING", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    scope.works.cache_clear()

    def put(script: str) -> None:
        path = tmp_path / "systemd-run"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    yield put
    # What was found of the stand-in is true of nothing else.
    scope.works.cache_clear()


def test_it_is_tried(systemd: Callable[[str], None]) -> None:
    systemd("exit 0")
    assert scope.works()


def test_a_refusal_is_seen(systemd: Callable[[str], None]) -> None:
    systemd("echo 'Failed to connect to bus' >&2; exit 1")
    assert not scope.works()


def test_without_systemd_it_is_not_tried(
    systemd: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    systemd("exit 0")
    monkeypatch.setattr(scope, "RUNNING", tmp_path / "missing")
    assert not scope.works()


def test_limits_become_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    argv = scope.wrap(["agent"], Place(name=NAME, shared="/dev/shm", cores=2, memory_bytes=4096))
    assert argv[:2] == ["systemd-run", "--scope"]
    assert f"--unit={NAME}" in argv
    for one in ("Delegate=yes", "CPUQuota=200%", "MemoryMax=4096", "MemorySwapMax=0"):
        assert argv[argv.index(one) - 1] == "-p"
    assert argv[argv.index("--") + 1 :] == ["agent"]


def test_a_quota_has_its_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    usual = scope.wrap(["agent"], Place(name=NAME, shared="/dev/shm", cores=0.1))
    assert "CPUQuota=10%" in usual
    # Systemd before version 242 knows no such word.
    assert not [word for word in usual if word.startswith("CPUQuotaPeriodSec")]
    short = Place(name=NAME, shared="/dev/shm", cores=1 / 3, period_us=20_000)
    argv = scope.wrap(["agent"], short)
    for one in ("CPUQuota=33.33%", "CPUQuotaPeriodSec=20000us"):
        assert argv[argv.index(one) - 1] == "-p"


def test_a_user_has_a_scope_of_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--user" in scope.wrap(["agent"], Place(name=NAME, shared="/dev/shm"))


def test_a_limit_without_its_controller_starts_nothing() -> None:
    argv = ["/bin/sh", "-c", scope.CHECK, "tare", "no.such.file", "echo", "started"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "no.such.file" in done.stderr
