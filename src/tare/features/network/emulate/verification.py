"""Whether an emulated network delivers what was asked: seconds of traffic between its hosts."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from tare.agent import client
from tare.agent.record import Interval
from tare.features.network.measure.client import Ends, connection
from tare.networks import peering
from tare.networks.emulator import Emulator
from tare.networks.recording.folder import wire_bits
from tare.networks.shaping import draws
from tare.networks.shaping.specification import Bucket, Distribution, Rate, Replay, Shaping
from tare.render.words import text
from tare.results.message import Chosen, Duration, Said, message

#: Largest relative difference between the delivered and the requested value; below 2 % on a quiet
#: machine.
WITHIN = 0.05
#: Attempts; the best is used, because other programs can only lower the measured rate.
TRIES = 3
#: Slower ones take longer to be measured than anybody waits.
LEAST_BPS = 20_000_000

_BURST_S, _LOW_S, _STEADY_S = 0.8, 0.8, 0.5
_INTERVAL_S = 0.02
#: After a change of the rate TCP takes some round trips to follow.
_SETTLES_S = 0.1
#: Intervals of which the median is taken, each joined of some, where a rate is no slower than this.
_TOGETHER, _MEDIAN_BPS = 3, 200_000_000
#: Rates of a distribution or a replay that are tried.
_RATES = 4

#: Start and end in seconds since the phase began, and bits on the wire, of each interval.
_Course = list[tuple[float, float, float]]
#: Connects both ends.
_Path = Callable[[], AbstractContextManager[Ends]]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was asked of a host, and what was delivered."""

    host: int
    #: ``high``, ``low``, ``refill``, ``budget`` or ``rate``.
    what: str
    #: Bits, or bits a second, as the interface counts them.
    asked: int
    #: Delivered value; None: not measured, for the reason in ``why``.
    delivered: float | None
    #: Relative.
    within: float = WITHIN
    #: Reason why it was not measured or differs; a string when read from a file.
    why: Said | None = None

    @property
    def error(self) -> float | None:
        """How far it is off, relative; None: not measured."""
        return None if self.delivered is None else self.delivered / self.asked - 1

    @property
    def good(self) -> bool:
        """Whether nothing speaks against it."""
        if self.error is None:
            return self.why is not None
        return abs(self.error) <= self.within

    @property
    def unit(self) -> str:
        """Unit of both values."""
        return "bits" if self.what == "budget" else "bits/s"

    def stored(self) -> Check:
        """Return it as documents have it: with text."""
        return self if self.why is None else msgspec.structs.replace(self, why=text(self.why))


def verify(emulator: Emulator, shapes: Sequence[Shaping], folder: Path) -> list[Check]:
    """Measure between hosts what was asked of them; leaves all of them unshaped.

    Hosts that are shaped alike are verified by the first of them.

    Parameters
    ----------
    emulator : Emulator
        A network of at least two hosts.
    shapes : sequence of Shaping
        Of every host, host 1 first.
    folder : Path
        For the secret of the ends.

    Raises
    ------
    PlatformError, AgentError
        If nothing could be measured.
    """
    key = folder / "key"
    if not key.exists():
        peering.make_key(key)
    checks: list[Check] = []
    seen: list[Shaping] = []
    count = len(emulator.hosts)
    emulator.shape(dict.fromkeys(range(1, count + 1)))
    for host, shaping in enumerate(shapes, 1):
        if shaping is None or shaping in seen:
            continue
        seen.append(shaping)
        # A connection for each try: one that was slowed down begins slowly again.
        path = partial(_between, emulator, host, 2 if host == 1 else 1, key)
        if isinstance(shaping, Bucket):
            checks += _best(partial(_bucket, emulator, path, host, shaping))
        for rate in _rates(shaping, host):
            steady = Rate(rate_bps=rate, queue_bytes=shaping.queue_bytes)
            checks += _best(partial(_steady, emulator, path, host, steady))
        emulator.shape({host: None})
    return checks


def carries(emulator: Emulator, folder: Path) -> float | None:
    """Return the bits a second between hosts 1 and 2 that are not shaped; None: not known."""
    emulator.shape({1: None})
    with _between(emulator, 1, 2, folder / "key") as ends:
        return _typical(_sent(ends, _STEADY_S), _MEDIAN_BPS, _SETTLES_S, math.inf)


def _best(attempt: Callable[[], list[Check]]) -> list[Check]:
    """Try until all is as asked, at most some times; return the try that came nearest."""
    best: list[Check] = []
    for _ in range(TRIES):
        found = attempt()
        if not best or _farthest(found) < _farthest(best):
            best = found
        if all(check.good for check in best):
            break
    return best


def _farthest(checks: Sequence[Check]) -> float:
    missed = (math.inf if check.why is None else 0.0 for check in checks if check.error is None)
    return max(
        *(abs(check.error) for check in checks if check.error is not None), *missed, 0.0, 0.0
    )


def _rates(shaping: Shaping, host: int) -> list[int]:
    """Return the rates to try: the slowest, the fastest, and some between."""
    match shaping:
        case Rate():
            found = [shaping.rate_bps]
        case Distribution():
            found = list(draws.drawn(shaping, host=host))
        case Replay():
            found = [rate for _, rate in shaping.steps if rate]
        case _:
            found = []
    ordered = sorted(set(found))
    places = {round(i * (len(ordered) - 1) / (_RATES - 1)) for i in range(_RATES)}
    return [ordered[place] for place in sorted(places)] if ordered else []


def _steady(emulator: Emulator, path: _Path, host: int, asked: Rate) -> list[Check]:
    rate = asked.rate_bps
    if rate < LEAST_BPS:
        return [_too_slow(host, "rate", rate)]
    emulator.shape({host: asked})
    with path() as ends:
        course = _sent(ends, _STEADY_S)
    delivered = _typical(course, rate, _SETTLES_S, math.inf)
    return [Check(host=host, what="rate", asked=rate, delivered=delivered)]


def _bucket(emulator: Emulator, path: _Path, host: int, asked: Bucket) -> list[Check]:
    """Verify a bucket by a smaller one: its budget lasts for less than a second."""
    if asked.high_bps < LEAST_BPS:
        return [_too_slow(host, "high", asked.high_bps)]
    spending = asked.high_bps - asked.refill_bps
    budget = min(asked.capacity_bits, round(_BURST_S * spending))
    burst_s = budget / spending
    small = msgspec.structs.replace(asked, capacity_bits=budget, initial_bits=budget)
    with path() as ends:
        emulator.shape({host: small})
        course = _sent(ends, burst_s + _LOW_S)
    return _of_course(course, host, asked, budget)


def _of_course(course: _Course, host: int, asked: Bucket, budget: int) -> list[Check]:
    burst_s = budget / (asked.high_bps - asked.refill_bps)
    # Where more comes back than the low rate takes away, it goes up and down between both.
    after_what = "low" if asked.refill_bps <= asked.low_bps else "refill"
    after_bps = max(asked.low_bps, asked.refill_bps)
    change = _change_s(course, math.sqrt(asked.high_bps * after_bps)) or burst_s
    high = _typical(course, asked.high_bps, min(_SETTLES_S, change / 2), change - _INTERVAL_S)
    lasts = message("as the budget lasts for only {time}", time=Duration(burst_s))
    short = lasts if burst_s < 3 * _SETTLES_S else None
    checks = [
        Check(
            host=host,
            what="high",
            asked=asked.high_bps,
            delivered=None if short else high,
            why=short,
        )
    ]
    if after_bps < LEAST_BPS:
        return [*checks, _too_slow(host, after_what, after_bps)]
    after = _mean(course, change + _SETTLES_S, math.inf)
    checks.append(Check(host=host, what=after_what, asked=after_bps, delivered=after))
    if after is not None:
        # What is beyond the rate afterwards came out of the bucket, and of its refill until then.
        sent = sum(bits for _, _, bits in course)
        spent = sent - after * (course[-1][1] - change) - asked.refill_bps * change
        checks.append(Check(host=host, what="budget", asked=budget, delivered=spent))
    return checks


def _too_slow(host: int, what: str, asked: int) -> Check:
    why = message(
        "as a rate below {least} takes too long to verify", least=Chosen(LEAST_BPS, "bits/s")
    )
    return Check(host=host, what=what, asked=asked, delivered=None, why=why)


def _sent(ends: Ends, seconds: float) -> _Course:
    """Send at full speed for a while."""
    told = [one for one in ends.phase(seconds) if isinstance(one, Interval) and one.on_ns]
    if not told:
        return []
    began = told[0].start_ns
    wire = wire_bits(statistics.median(one.segment_bytes for one in told), ip6=False)
    return [
        (
            (one.start_ns - began) / 1e9,
            (one.end_ns - began) / 1e9,
            8 * wire * one.acked_bytes,
        )
        for one in told
    ]


def _mean(course: _Course, start_s: float = 0.0, end_s: float = math.inf) -> float | None:
    """Return the mean rate of the intervals within a stretch; None: there is none."""
    within = [one for one in course if one[0] >= start_s - 1e-9 and one[1] <= end_s + 1e-9]
    lasts = sum(end - start for start, end, _ in within)
    return sum(bits for _, _, bits in within) / lasts if lasts else None


def _typical(course: _Course, asked_bps: int, start_s: float, end_s: float) -> float | None:
    """Return the rate of a stretch while nothing held the sender up: a median, where it is fast.

    Slow ones come in packets that are long beside an interval.
    """
    if asked_bps < _MEDIAN_BPS:
        return _mean(course, start_s, end_s)
    within = [one for one in course if one[0] >= start_s - 1e-9 and one[1] <= end_s + 1e-9]
    whole = range(0, len(within) - _TOGETHER + 1, _TOGETHER)
    rates = [_mean(within[first : first + _TOGETHER]) for first in whole]
    return statistics.median(rate for rate in rates if rate is not None) if rates else None


def _change_s(course: _Course, between_bps: float) -> float | None:
    """Return when the rate fell, and stayed down for some intervals."""
    slow = [bits < between_bps * (end - start) for start, end, bits in course]
    for index in range(1, len(course) - 3):
        if all(slow[index : index + 4]):
            start, end, bits = course[index - 1]
            # The interval before is partly fast.
            before = _mean(course[: index - 1]) or between_bps
            after = _mean(course[index:]) or 0.0
            share = (bits / (end - start) - after) / max(before - after, 1.0)
            return start + min(1.0, max(0.0, share)) * (end - start)
    return None


@contextmanager
def _between(emulator: Emulator, host: int, other: int, key: Path) -> Iterator[Ends]:
    """Start both ends, and measure from the one to the other."""
    where = f"{emulator.hosts[other - 1].address}:{peering.PORT}"
    binary = str(client.binary())
    with ExitStack() as stack:
        end = subprocess.Popen(
            [*emulator.enter(other), binary, "peer", "--bind", where, "--key-file", str(key)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        stack.callback(end.wait)
        stack.callback(end.kill)
        assert end.stdout is not None
        # It says so once it listens.
        stack.enter_context(end.stdout).readline()
        asked = connection(
            where, peering.read_key(key), pings=0, interval_s=_INTERVAL_S, congestion=_congestion()
        )
        channel = client.ProcessChannel([*emulator.enter(host), binary, "measure"])
        yield stack.enter_context(Ends(asked, channel=channel))


def _congestion() -> str | None:
    """Return a congestion control that fills the queue, and so follows a rate at once."""
    which = "available" if os.geteuid() == 0 else "allowed"
    try:
        known = Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control").read_text().split()
    except OSError:
        return None
    return next((name for name in ("cubic", "reno") if name in known), None)
