"""The memory in which the workers of a trial meet, and how their agents get it.

It has no path: agents are handed a descriptor, at a socket in what instances are shown, for a token
that only they are told. All have come before anything is launched, and then the socket is gone, so
that what is measured finds nothing to open, to fill or to lay a link in the place of.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import secrets
import selectors
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tare.agent import record
from tare.errors import TrialError, room

#: Bytes of the memory; the agent lays it out.
SIZE = 4096
#: Of what agents are told, as they say it.
TOKEN_BYTES = 32
#: Who may ask at a time: agents say at once what they want, and strangers keep nobody waiting.
MOST_ASKING = 1024
#: How often it looks whether it is still wanted.
LOOK_S = 0.2


@dataclass
class _Asking:
    """Somebody who wants the memory, and what of a token they have said."""

    socket: socket.socket
    said: bytes = b""


class Meeting:
    """Hands the memory of one trial to each of its instances, once.

    Parameters
    ----------
    shared : Path
        What instances are shown.
    parties : int
        Workers that meet.

    Raises
    ------
    TrialError
        If there is no memory, or no room for the socket.
    """

    def __init__(self, shared: Path, parties: int) -> None:
        self._parties = parties
        self._tokens: set[str] = set()
        self._name = f"meeting-{secrets.token_hex(8)}"
        self._path = shared / self._name
        self._closing = threading.Event()
        try:
            self._memory = _sealed_memory()
        except OSError as error:
            raise TrialError(f"workers have no memory to meet in: {error.strerror}") from None
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._listen(shared)
        except OSError as error:
            self._release()
            raise TrialError(
                f"workers cannot meet: {self._path}: {error.strerror}",
                room(shared),
            ) from None
        self._thread = threading.Thread(target=self._hand_out, name="meeting", daemon=True)

    def _listen(self, shared: Path) -> None:
        # Addresses of sockets are short, and paths need not be.
        folder = os.open(shared, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._socket.bind(f"/proc/self/fd/{folder}/{self._name}")
        finally:
            os.close(folder)
        # Agents inside may be other users; what lets them in is the token.
        self._path.chmod(0o666)
        self._socket.listen(MOST_ASKING)
        self._socket.setblocking(False)

    def invite(self, inside: str) -> record.Rendezvous:
        """Return what one instance is told.

        Parameters
        ----------
        inside : str
            Where it sees what it is shown.
        """
        token = secrets.token_hex(TOKEN_BYTES // 2)
        self._tokens.add(token)
        handout = record.Handout(socket=f"{inside}/{self._name}", token=token)
        return record.Rendezvous(handout=handout, parties=self._parties)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hand it out meanwhile; begin when everybody is invited."""
        self._thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._thread.join()

    def _hand_out(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._socket, selectors.EVENT_READ)
                while self._tokens and not self._closing.is_set():
                    for key, _ in selector.select(LOOK_S):
                        if key.data is None:
                            self._admit(selector)
                        elif self._hear(key.data):
                            selector.unregister(key.data.socket)
                            key.data.socket.close()
                for key in list(selector.get_map().values()):
                    key.fileobj.close()  # type: ignore[union-attr]
        finally:
            self._release()

    def _admit(self, selector: selectors.BaseSelector) -> None:
        """Let somebody ask; of more than there can be, whoever has waited longest has to go."""
        with contextlib.suppress(OSError):
            asking, _ = self._socket.accept()
            asking.setblocking(False)
            waiting = [key for key in selector.get_map().values() if key.data is not None]
            if len(waiting) >= MOST_ASKING:
                selector.unregister(waiting[0].fileobj)
                waiting[0].data.socket.close()
            selector.register(asking, selectors.EVENT_READ, _Asking(asking))

    def _hear(self, asking: _Asking) -> bool:
        """Take what somebody says; return whether that was all."""
        try:
            more = asking.socket.recv(TOKEN_BYTES + 1 - len(asking.said))
            asking.said += more
            if more and not asking.said.endswith(b"\n") and len(asking.said) <= TOKEN_BYTES:
                return False
            said = asking.said.removesuffix(b"\n")
            token = next((t for t in self._tokens if hmac.compare_digest(t.encode(), said)), None)
            if token is not None:
                self._tokens.discard(token)
                if not self._tokens:
                    # Before the last has it, and anything is launched.
                    self._path.unlink(missing_ok=True)
                socket.send_fds(asking.socket, [b"!"], [self._memory])
        except OSError:
            return True
        return True

    def _release(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)
        os.close(self._memory)


def _sealed_memory() -> int:
    """Return a descriptor of zeroed memory that nobody can make larger or smaller."""
    memory = os.memfd_create("meeting", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(memory, SIZE)
        fcntl.fcntl(
            memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        )
    except BaseException:
        os.close(memory)
        raise
    return memory
