"""The course of a trial in an emulated network: the hosts from its beginning to its end."""

from __future__ import annotations

from tare.agent import record
from tare.experiment.journal import HostTokens, HostUse

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
        return [self._line(states) for states in (*self._moments, last)]

    def uses(self, last: record.HostStates) -> list[HostUse]:
        """Return what each host did until the end."""
        ended = {host.host: host for host in last.hosts}
        return [self._use(host, ended[host.host]) for host in self._first.hosts]

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

    def _line(self, states: record.HostStates) -> HostTokens:
        sent = {host.host: host.sent_bytes for host in self._first.hosts}
        return HostTokens(
            trial=self.trial,
            at_ns=max(0, states.at_ns - self._began_ns),
            tokens_bits=tuple(host.tokens_bits for host in states.hosts),
            rate_bps=tuple(host.rate_bps for host in states.hosts),
            sent_bytes=tuple(h.sent_bytes - sent.get(h.host, 0) for h in states.hosts),
        )
