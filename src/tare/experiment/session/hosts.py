"""The network in which a session's trials take place: shaped before each, looked at after it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from tare.agent import record
from tare.errors import AgentError, PlatformError, TareError, Typed
from tare.experiment.journal import HostTokens, HostUse
from tare.experiment.session.drivers import Drivers
from tare.experiment.session.joining import Joining, write_hosts
from tare.experiment.session.servers import session_servers
from tare.experiment.specification import Cell, Experiment, NetworkSpec
from tare.networks import replay
from tare.networks.emulator import Emulator
from tare.networks.shaping import specification
from tare.networks.shaping.specification import Bucket, Shaping
from tare.render.words import text
from tare.results.message import Duration, Message, message
from tare.workloads import placeholders

#: What is told of a trial beside the lines of its hosts, over all of them.
SENT, DRY, SOURCE = "network_sent_bytes", "network_dry_ns", "qdisc"
Told = HostUse | HostTokens | record.Sample
#: How often the rest of an idle period is shown anew.
TOLD_S = 0.5


class NoNetworkError(AgentError):
    """The network has failed, and does not come back: no trial of this session can take place."""


class Hosts:
    """The hosts of one session, and what of their buckets each level has left.

    Parameters
    ----------
    name : str
        Of the session; every namespace is called ``NAME-NUMBER``.
    experiment : Experiment
        Says how many hosts there are, what they serve, and how each level shapes them.
    folder : Path
        What instances are shown; the file of the hosts' addresses is put there.
    user : User or None
        As whom servers run.
    stage : callable
        Takes what goes on, as text.
    note : callable
        Takes what is to be reported with the answers.

    Raises
    ------
    PlatformError
        If there is no right to make a network, or this kernel cannot.
    TrialError
        If a server ended at once.
    """

    def __init__(
        self,
        name: str,
        experiment: Experiment,
        folder: Path,
        user: record.User | None,
        stage: Callable[[str], None],
        note: Callable[[Message], None],
    ) -> None:
        self._experiment = experiment
        self._stage = stage
        self._budgets = Budgets(experiment.network)
        self._course: Course | None = None
        self._emulator = Emulator(name, hosts=experiment.network.hosts)
        #: Load generators of applications that serve.
        self.drivers = Drivers(name, self._emulator, folder, user)
        try:
            addresses = [str(host.address) for host in self._emulator.hosts]
            #: What instances are shown.
            self.folder = folder
            file = write_hosts(folder / "hosts", addresses)
            self.placeholders = placeholders.of_hosts(addresses, str(file))
            self._shapings = {
                level: replay.resolved(specification.parse(experiment.shaped(level)))
                for level in map(str, experiment.factors["network"])
            }
            self._servers = session_servers(
                self._emulator, name, experiment.network.serve, self.placeholders, user, note
            )
        except BaseException:
            self._emulator.close()
            raise

    @property
    def emulator(self) -> Emulator:
        """What makes the network."""
        return self._emulator

    def join(self, stack: str, serves_on: int | None) -> Joining:
        """Put an instance of a stack on a host of the network, or behind it."""
        return Joining(self._emulator, stack, self.folder, self.placeholders, serves_on)

    def wait_s(self, cell: Cell) -> float:
        """Return how long a cell's next trial is to rest before it begins."""
        return self._budgets.rest_s(str(cell.network), self._shapings[str(cell.network)])

    def lost(self) -> NoNetworkError | None:
        """Return that the network has failed, where it has."""
        try:
            self._emulator.check()
        except (AgentError, PlatformError) as error:
            return NoNetworkError(error.message, Typed("--resume"))
        return None

    def rest(self, cell: Cell) -> float:
        """Let the buckets of a cell's level refill, as far as asked; return for how long.

        Raises
        ------
        NoNetworkError
            If the network has failed meanwhile.
        """
        try:
            return self._rest(cell)
        except TareError as error:
            raise self.lost() or error from error

    def _rest(self, cell: Cell) -> float:
        level = str(cell.network)
        seconds = self.wait_s(cell)
        if seconds <= 0:
            return 0.0
        self._shape(level)
        began = time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            idle = message(
                "network {level}: idle{% if refill %} until every bucket is full{% endif %}, "
                "{left} left",
                level=level,
                refill=self._experiment.network.rest == "refill",
                left=Duration(math.ceil(left)),
            )
            self._stage(text(idle))
            time.sleep(min(left, TOLD_S))
        self._budgets.keep(level, self._emulator.look().hosts)
        return time.monotonic() - began

    @contextlib.contextmanager
    def during(
        self,
        trial: int,
        cell: Cell,
        block: int,
        began_ns: int,
        keep: Callable[[Iterable[Told]], object],
    ) -> Iterator[None]:
        """Shape all hosts as a cell asks, and keep how they are until the trial ends.

        Raises
        ------
        TrialError
            If a server has ended, with its last words.
        """
        self._check()
        try:
            self._begin(trial, cell, block, began_ns)
            yield
        finally:
            keep(self._end())
        self._check()

    def _begin(self, trial: int, cell: Cell, block: int, began_ns: int) -> None:
        level = str(cell.network)
        self._shape(level, block)
        self._course = Course(trial, level, began_ns, self._emulator.look())
        self._emulator.log(self._experiment.network.log_s, self._course.add)

    def _end(self) -> Iterator[Told]:
        """Yield what the hosts did since ``_begin``; nothing where none of it began."""
        course, self._course = self._course, None
        if course is None:
            return
        self._emulator.log(None, course.add)
        last = self._emulator.look()
        self._budgets.keep(course.level, last.hosts)
        yield from course.log(last)
        uses = course.uses(last)
        yield from uses
        yield _sample(course.trial, SENT, sum(use.sent_bytes for use in uses))
        if any(use.tokens_start_bits is not None for use in uses):
            yield _sample(course.trial, DRY, sum(use.dry_ns for use in uses))

    def _check(self) -> None:
        self._emulator.check()
        self._servers.check()

    def close(self) -> None:
        """End load generators and servers, and take the network down."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._emulator.close)
            stack.callback(self._servers.close)
            stack.callback(self.drivers.close)

    def _shape(self, level: str, draw: int = 0) -> None:
        """Shape all hosts as a level does, with what it has left; a block has draws of its own."""
        shaping = self._shapings[level]
        hosts = [host.host for host in self._emulator.hosts]
        self._emulator.shape(
            {host: self._budgets.as_left(level, host, shaping) for host in hosts}, draw=draw
        )


def _sample(trial: int, metric: str, value: int) -> record.Sample:
    return record.Sample(
        id=0, trial=trial, worker=None, iteration=None, phase="measured",
        metric=metric, source=SOURCE, value=value,
    )  # fmt: skip


class Budgets:
    """Tokens by level and host.

    The buckets of a level stand still while trials of other levels take place, so that what a
    trial finds depends on the trials of its own level alone, however many others there are.
    """

    def __init__(self, network: NetworkSpec) -> None:
        self._network = network
        self._left: dict[str, dict[int, int]] = {}

    def keep(self, level: str, hosts: Iterable[record.HostState]) -> None:
        """Remember what a level has left."""
        if self._network.budget == "carry":
            self._left[level] = {
                host.host: host.tokens_bits for host in hosts if host.tokens_bits is not None
            }

    def as_left(self, level: str, host: int, shaping: Shaping) -> Shaping:
        """Return how a host is to be shaped: with what its level has left there, if any is."""
        left = self._left.get(level, {}).get(host)
        if left is None or not isinstance(shaping, Bucket):
            return shaping
        left = min(left, shaping.capacity_bits)
        return msgspec.structs.replace(shaping, initial_bits=left, hosts_bits=())

    def rest_s(self, level: str, shaping: Shaping) -> float:
        """Return how long the next trial of a level is to wait."""
        rest = self._network.rest
        if isinstance(rest, float | int):
            # Before the first nothing was spent.
            return float(rest) if level in self._left else 0.0
        if rest == "none" or not isinstance(shaping, Bucket):
            return 0.0
        full = shaping.capacity_bits
        first = min(shaping.begins_with(host) for host in (None, *dict(shaping.hosts_bits)))
        missing = full - min(self._left.get(level, {}).values(), default=first)
        return max(0, missing) / shaping.refill_bps if shaping.refill_bps else 0.0


#: Moments of one trial that are kept, and hosts at moments: enough for curves, few enough for
#: thousands of trials of many hosts.
MOST_MOMENTS, MOST_STATES = 500, 4000


class Course:
    """What the hosts do in a trial; of a long one moments are left out, evenly."""

    def __init__(self, trial: int, level: str, began_ns: int, first: record.HostStates) -> None:
        self.trial = trial
        self.level = level
        self._began_ns = began_ns
        self._first = first
        self._moments = [first]
        self._most = min(MOST_MOMENTS, max(2, MOST_STATES // max(1, len(first.hosts))))
        #: Of the moments that are told, one in so many is kept.
        self._stride = 1
        self._told = 0

    def add(self, states: record.HostStates) -> None:
        """Take how the hosts are at a moment."""
        if states.at_ns <= self._first.at_ns:
            return
        self._told += 1
        if self._told % self._stride:
            return
        self._moments.append(states)
        if len(self._moments) > self._most:
            self._moments = self._moments[::2]
            self._stride *= 2

    def log(self, last: record.HostStates) -> list[HostTokens]:
        """Return the moments, in order, to the end."""
        return [self.line(states) for states in (*self._moments, last)]

    def uses(self, last: record.HostStates) -> list[HostUse]:
        """Return what each host did until the end."""
        ended = {host.host: host for host in last.hosts}
        # Of one that failed nothing is known at the end.
        return [
            self._use(host, ended[host.host]) for host in self._first.hosts if host.host in ended
        ]

    def _use(self, first: record.HostState, last: record.HostState) -> HostUse:
        dry_ns = last.first_dry_ns
        return HostUse(
            trial=self.trial,
            host=first.host,
            tokens_start_bits=first.tokens_bits,
            tokens_end_bits=last.tokens_bits,
            sent_bytes=last.sent_bytes - first.sent_bytes,
            dropped_packets=last.dropped_packets - first.dropped_packets,
            # Counted since the host was shaped, which is when the trial began.
            times_dry=last.times_dry,
            dry_ns=last.dry_ns,
            first_dry_ns=None if dry_ns is None else max(0, dry_ns - self._began_ns),
        )

    def line(self, states: record.HostStates) -> HostTokens:
        """Return the hosts at a moment, with what they sent since the first."""
        sent = {host.host: host.sent_bytes for host in self._first.hosts}
        return HostTokens(
            trial=self.trial,
            at_ns=max(0, states.at_ns - self._began_ns),
            tokens_bits=tuple(host.tokens_bits for host in states.hosts),
            rate_bps=tuple(host.rate_bps for host in states.hosts),
            sent_bytes=tuple(h.sent_bytes - sent.get(h.host, 0) for h in states.hosts),
        )
