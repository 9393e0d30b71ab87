"""The memory of a meeting goes to whom it was promised, and to nobody else."""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
from pathlib import Path

import pytest

from tare.agent import record
from tare.errors import TrialError
from tare.experiment.session.meeting import MOST_ASKING, SIZE, Meeting


def connected(handout: record.Handout) -> socket.socket:
    asking = socket.socket(socket.AF_UNIX)
    asking.settimeout(10)
    folder = os.open(Path(handout.socket).parent, os.O_RDONLY)
    try:
        asking.connect(f"/proc/self/fd/{folder}/{Path(handout.socket).name}")
    finally:
        os.close(folder)
    return asking


def asked(handout: record.Handout, token: str) -> int | None:
    """Ask as an agent does; return the descriptor."""
    with connected(handout) as asking:
        asking.sendall(f"{token}\n".encode())
        try:
            _, files, _, _ = socket.recv_fds(asking, 1, 1)
        except ConnectionError:
            return None
        return files[0] if files else None


def invited(meeting: Meeting, shared: Path) -> record.Handout:
    handout = meeting.invite(str(shared)).handout
    assert handout is not None
    return handout


def test_everybody_who_is_invited_gets_the_same_memory_once(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2)
    one, other = invited(meeting, tmp_path), invited(meeting, tmp_path)
    assert one.token != other.token
    with meeting.held():
        first = asked(one, one.token)
        assert asked(one, one.token) is None
        second = asked(other, other.token)
        assert first is not None
        assert second is not None
        with mmap.mmap(first, SIZE) as here, mmap.mmap(second, SIZE) as there:
            here[:5] = b"hello"
            assert there[:5] == b"hello"
        for refused in (SIZE + 1, 0):
            with pytest.raises(PermissionError):
                os.ftruncate(first, refused)
        os.close(first)
        os.close(second)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "é", "a" * 100_000, "\0" * 32])
def test_a_stranger_gets_nothing(tmp_path: Path, token: str) -> None:
    meeting = Meeting(tmp_path, 2)
    handout = invited(meeting, tmp_path)
    with meeting.held():
        # Who says too much is not listened to any longer.
        with contextlib.suppress(OSError):
            assert asked(handout, token) is None
        got = asked(handout, handout.token)
        assert got is not None
        os.close(got)


def test_strangers_who_say_nothing_keep_nobody_waiting(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2)
    handout = invited(meeting, tmp_path)
    silent = []
    with meeting.held():
        for _ in range(MOST_ASKING // 8):
            silent.append(connected(handout))
        got = asked(handout, handout.token)
        assert got is not None
        os.close(got)
    for one in silent:
        one.close()


def test_nothing_is_left_where_nobody_came(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2)
    invited(meeting, tmp_path)
    with meeting.held():
        pass
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_room_the_trial_fails_in_words(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="workers cannot meet") as caught:
        Meeting(tmp_path / "gone", 2)
    assert "make room" in (caught.value.hint or "")
