"""A scheduler or a worker of a run's own, for as long as whoever started it is there.

All that it needs comes by its standard input, as one line, the key among it; after that a sign of
life every few seconds. Where the input ends, or is silent, so does this.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import ssl
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import dask
import msgspec
from distributed import Scheduler, Worker

import tare
from tare.errors import PlatformError, TareError, UsageError
from tare.experiment import remnants
from tare.features.fleet.certificate import Certificate
from tare.features.fleet.local import SETTINGS
from tare.host import lease

#: This tare, to Python; no module of the folder where it happens to run is one of its own.
TARE = ("-P", "-m", "tare.wiring")
#: Nothing listens anywhere else.
LOOPBACK = "127.0.0.1"
#: So often whoever started it gives a sign of life; silent for so long, he is gone.
BEAT_S, SILENT_S = 4.0, 20.0
#: Between being asked to end and leaving whatever is under way.
END_S = 8.0
#: What an answer over the loopback, or a tunnel of ssh, takes.
REACH_S = 10.0
#: A certificate, its key and a few names take a tenth of this.
_MOST_BYTES = 1 << 14

Port = Annotated[int, msgspec.Meta(ge=1024, le=65535)]


class Tunnels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ports of a worker's machine, and of the one at the other end.

    Attributes
    ----------
    scheduler : int
        By which the scheduler is reached from here.
    own : int
        On which the worker listens.
    there : int
        By which the other end reaches that.
    """

    scheduler: Port
    own: Port
    there: Port


class Orders(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to be; a scheduler, where there is no worker's name."""

    version: str
    #: Begins the answer.
    mark: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    certificate: Certificate
    worker: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$")] | None = None
    tunnels: Tunnels | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """That it is ready, or why it cannot be."""

    why: str | None = None
    hint: str | None = None
    #: Whether other ports may do.
    ports: bool = False
    #: Of a scheduler.
    port: int = 0


class PortError(PlatformError):
    """A port is taken, or leads elsewhere."""


def reach(port: int, certificate: Certificate) -> None:
    """See that who answers on a port of this machine has the certificate; raises PortError."""
    context = certificate.security().get_connection_args("client")["ssl_context"]
    try:
        with (
            socket.create_connection((LOOPBACK, port), REACH_S) as plain,
            context.wrap_socket(plain),
        ):
            pass
    except (OSError, ssl.SSLError) as error:
        raise PortError(f"ssh's tunnel does not lead to the other end: {error}") from error


def main() -> None:
    """Be what the standard input says.

    Raises
    ------
    UsageError
        If it says nothing that can be read.
    """
    orders = _read()
    # What is configured here for other clusters holds but for this.
    dask.config.refresh(env={**os.environ, **SETTINGS})
    end = _End()
    try:
        asyncio.run(_be(orders, end))
    except TareError as error:
        answer = Answer(why=error.message, hint=error.hint, ports=isinstance(error, PortError))
        _answer(orders, answer)
    except Exception as error:
        _answer(orders, Answer(why=f"{type(error).__name__}: {error}"))
    finally:
        # A block that is under way in a thread holds the process up no longer than this.
        end.at_most()


def _read() -> Orders:
    # Nothing has been started that would have to be ended otherwise.
    signal.alarm(round(SILENT_S))
    line = sys.stdin.buffer.readline(_MOST_BYTES)
    signal.alarm(0)
    try:
        return msgspec.json.decode(line, type=Orders)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"no orders on the standard input ({error})",
            "tare experiment run FILE --fleet ssh:HOST   (with the same tare on both machines)",
        ) from error


def _answer(orders: Orders, answer: Answer) -> None:
    # Nobody may be there any more.
    with contextlib.suppress(OSError):
        os.write(1, f"{orders.mark} {msgspec.json.encode(answer).decode()}\n".encode())


async def _be(orders: Orders, end: _End) -> None:
    asked = asyncio.Event()
    end.listen(asyncio.get_running_loop(), asked)
    async with _node(orders) as (node, port):
        _answer(orders, Answer(port=port))
        # Who reads the other end of these must not be waited for.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        waits = [asyncio.ensure_future(one) for one in (asked.wait(), node.finished())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        end.at_most()


@contextlib.asynccontextmanager
async def _node(orders: Orders) -> AsyncIterator[tuple[Any, int]]:
    """Start what is asked for; yield it, and the port that it has."""
    if orders.version != tare.__version__:
        raise PlatformError(f"it has tare {tare.__version__}, and this is {orders.version}")
    security = orders.certificate.security()
    common = {"security": security, "dashboard": False, "dashboard_address": f"{LOOPBACK}:0"}
    if orders.worker is None or orders.tunnels is None:
        schedule: Callable[..., Any] = Scheduler
        async with schedule(host=LOOPBACK, port=0, protocol="tls", **common) as scheduler:
            yield scheduler, scheduler.port
        return
    ports = orders.tunnels
    reach(ports.scheduler, orders.certificate)
    try:
        socket.create_server((LOOPBACK, ports.own)).close()
    except OSError as error:
        raise PortError(f"port {ports.own} is taken there: {error.strerror}") from error
    name, work = lease.new_name(), Worker
    with remnants.lease(name), tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        async with work(
            f"tls://{LOOPBACK}:{ports.scheduler}", name=orders.worker, nthreads=1, host=LOOPBACK,
            port=ports.own, contact_address=f"tls://{LOOPBACK}:{ports.there}", memory_limit=0,
            death_timeout=REACH_S, local_directory=folder, **common,
        ) as worker:  # fmt: skip
            yield worker, ports.own


class _End:
    """Sees to it that this process ends."""

    def listen(self, loop: asyncio.AbstractEventLoop, asked: asyncio.Event) -> None:
        """Set an event where whoever started this is gone, or wants its end."""

        def listening() -> None:
            while select.select([0], [], [], SILENT_S)[0] and os.read(0, 1024):
                pass
            self.at_most()
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(asked.set)

        threading.Thread(target=listening, daemon=True).start()

    def at_most(self) -> None:
        """Give what is under way a while, and then leave it."""
        timer = threading.Timer(END_S, _leave)
        timer.daemon = True
        timer.start()


def _leave() -> None:
    """Become what cleans up after this process, whose agents end with it."""
    os.execv(sys.executable, [sys.executable, *TARE, "cleanup"])
