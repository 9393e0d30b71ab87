"""Sockets that wait for somebody."""

from __future__ import annotations

import os
import socket

import pytest

from tare.networks.listening import waiting


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_waits_from_when_it_listens(kind: int) -> None:
    table = "tcp" if kind == socket.SOCK_STREAM else "udp"
    with socket.socket(socket.AF_INET, kind) as one:
        name = f"{table} {os.fstat(one.fileno()).st_ino}"
        assert name not in waiting(os.getpid())
        one.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            one.listen()
        assert name in waiting(os.getpid())
        other = socket.create_connection(one.getsockname()) if table == "tcp" else None
        if other is not None:
            with other:
                assert f"tcp {os.fstat(other.fileno()).st_ino}" not in waiting(os.getpid())


def test_nothing_waits_for_a_process_that_is_gone() -> None:
    assert waiting(2**31 - 1) == set()
