"""Runs of iperf3, from its documents or its events: what each end counted, in each direction.

Intervals of a sender are writes into its socket buffer (TCP), or datagrams of which any number may
be lost (UDP). Only the receiver's counts are what the network carried.

Source: iperf 3.9 to 3.22, src/iperf_api.c and src/iperf_server_api.c.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tare.errors import FailedRunError, InputError
from tare.readers import json_file, phrases
from tare.readers.compression import take, unpacked
from tare.readers.format import HEAD
from tare.readers.json_file import Node
from tare.readers.readings import counted, number
from tare.results.message import Chosen, Message, message
from tare.units import chosen

End = Literal["sender", "receiver"]
#: Suffixes of sums: the only direction, or the first of two; and the second (--bidir).
_SUFFIXES = ("", "_bidir_reverse")
#: Share of an interval by which its times may differ from its duration: files round.
_ROUNDING = 0.1
#: Totals, and the keys of streams that they are the sums of.
_TOTALS = {"sum_sent": "sender", "sum_received": "receiver", "sum": "udp"}
#: Keys of what the server wrote.
_OTHER = ("server_output_json", "server_output_text")
#: An interval in the text of a server: stream, times, rate; of UDP jitter and losses; the rest.
_LINE = re.compile(
    r"^\[ *(SUM|\d+)\](\[[RT]X-[SC]\])? +([\d.]+)-([\d.]+) +sec +[\d.]+ [KMGT]?Bytes +"
    r"([\d.]+) ([KMGT]?)bits/sec(?: +([\d.]+) ms +(\d+)/(\d+) +\(.*?%\))?(.*)$",
    re.MULTILINE,
)
#: Output of iperf that is not JSON: a pattern of its beginning, and its name.
_UNREAD = {
    re.compile(rb"^\[ *ID\] Interval +Transfer +(?:Bitrate|Bandwidth)", re.MULTILINE): (
        "iperf's text, which has three digits and no losses per run"
    ),
    re.compile(rb"\A(?:send|get)_parameters:\s*\{"): (
        "iperf3's debug output (-d), which has other messages and documents around the result"
    ),
    re.compile(rb"\A\d{14}[^,]*,[\d.:a-f]+,\d+,[\d.:a-f]+,\d+,-?\d+,[\d.]+-[\d.]+,\d+,\d+"): (
        "the CSV of iperf 2 (-y C), in which a client reports what it wrote, not what arrived"
    ),
}
#: The command that makes iperf3 write JSON, which tare reads.
_WRITE = "iperf3 -c HOST -J >run.json"
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
#: Fields of a sum over streams, where a version wrote none for a direction.
_ADDED = ("bytes", "bits_per_second", "packets", "lost_packets", "retransmits")


@dataclass
class Run:
    """One test, as one end wrote it.

    Attributes
    ----------
    start, end : Node
        ``end`` is None where the file was cut off.
    intervals : list of Node
    other : Node or None
        What the server wrote on the same test (``--get-server-output``): its document, or its text
        where it runs without ``-J``.
    error : str or None
        Why the test ended early.
    """

    start: Node
    intervals: list[Node] = field(default_factory=list)
    end: Node | None = None
    other: Node | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Direction:
    """What one run carried in one direction.

    Attributes
    ----------
    key : mapping of str to str
        Conditions that tell it from other directions and runs.
    intervals : sequence of Node
        Sums over all streams, without warm-up, of one end: the receiver where its are known.
    end : {"sender", "receiver"}
        Which end counted ``intervals``.
    sent, received, whole : Node or None
        Totals of ``end`` in the file; ``whole`` is that of UDP, with the sender's bytes and the
        receiver's losses.
    is_udp, is_complete : bool
        ``is_complete``: totals have what the other end counted.
    ended_early : bool
    omitted_s : float
        Warm-up in seconds, of which iperf3 counts losses all the same.
    target_bps : float
        Limit of the sender's rate, over all streams; 0: none.
    begin_s : float or None
        Seconds since 1970.
    notes : tuple of Message
    """

    key: Mapping[str, str]
    intervals: Sequence[Node]
    end: End
    sent: Node | None
    received: Node | None
    whole: Node | None
    is_udp: bool
    is_complete: bool
    ended_early: bool
    omitted_s: float
    target_bps: float
    begin_s: float | None
    notes: tuple[Message, ...]

    @cached_property
    def carried(self) -> Node | None:
        """Total of the receiver with ``bytes`` and ``bits_per_second``; None: not in the file."""
        total = self.received
        if total is not None and self.is_complete and not self._is_unknown(total):
            return total
        if self.end == "receiver":
            return self._summed()
        whole, lost = self.whole, self.lost
        if whole is None or lost is None or not self.is_complete:
            return None
        seconds = number(whole.value.get("seconds"))
        size = number(whole.value.get("bytes")) * (1 - lost)
        rate = 8 * size / seconds if seconds > 0 else math.nan
        return _made(whole, {"bytes": size, "bits_per_second": rate})

    @cached_property
    def offered(self) -> Node | None:
        """Total of the sender with ``bits_per_second``; None: not in the file."""
        for total in (self.sent, self.whole):
            if total is not None and number(total.value.get("bytes")) > 0:
                return total
        return self._summed() if self.end == "sender" else None

    @cached_property
    def losses(self) -> Node | None:
        """The receiver's total of lost datagrams and jitter; None: not in the file."""
        if not self.is_udp or not (self.is_complete or self.end == "receiver"):
            return None
        found = next(filter(None, (self.received, self.whole)), None)
        if found is not None and self.omitted_s:
            return self._without_warm_up(found)
        return found

    @cached_property
    def lost(self) -> float | None:
        """Share of datagrams that were lost; None: not in the file."""
        if self.losses is None:
            return None
        lost = number(self.losses.value.get("lost_percent")) / 100
        return lost if 0 <= lost <= 1 else None

    def _is_unknown(self, total: Node) -> bool:
        """Whether a total of nothing is one that the other end never sent."""
        return number(total.value.get("bytes")) == 0 and self.lost != 1

    def _without_warm_up(self, found: Node) -> Node | None:
        """Return losses by bytes, as those by number count the warm-up; None: bytes are unknown."""
        sent, received = (
            math.nan if total is None else number(total.value.get("bytes"))
            for total in (self.sent, self.received)
        )
        jitter = {"jitter_ms": found.value.get("jitter_ms")}
        if not sent > 0 or not received >= 0:
            return _made(found, jitter)
        return _made(found, {**jitter, "lost_percent": 100 * max(0.0, 1 - received / sent)})

    def _summed(self) -> Node | None:
        """Return the total of all intervals; where one has no rate, that one."""
        if not self.intervals:
            return None
        rates, lasting, sizes = (
            [number(one.value.get(name)) for one in self.intervals]
            for name in ("bits_per_second", "seconds", "bytes")
        )
        for one, rate in zip(self.intervals, rates, strict=True):
            if not 0 <= rate < math.inf:
                return one
        seconds = sum(lasting)
        if not 0 < seconds < math.inf:
            lasting, seconds = [1.0] * len(rates), float(len(rates))
        rate = sum(r * s for r, s in zip(rates, lasting, strict=True)) / seconds
        return _made(self.intervals[0], {"bytes": sum(sizes), "bits_per_second": rate})


def load(file: Path) -> tuple[list[Run], list[str]]:
    """Read the runs of a file that have intervals, and the errors of runs that ended early.

    Raises
    ------
    InputError
        If it is no JSON, or not that of iperf3.
    """
    with unpacked(file) as source:
        head = take(file, source, HEAD)
    if (unread := _unread(head)) is not None:
        raise InputError(f"{file} is {unread}", f"let iperf3 write JSON: {_WRITE}")
    return _runs_of(json_file.load_each(file))


def no_measurement(file: Path, errors: Sequence[str]) -> InputError:
    """Return the error of a file without intervals: of a failed run where it records why."""
    why = errors[0] if errors else "the run has no intervals"
    what, hint = f"{file} holds no measurement: {why}", "let iperf3 run again"
    return FailedRunError(what, hint, why) if errors else InputError(what, hint)


def is_unread(head: bytes) -> bool:
    """Whether it is what iperf writes other than JSON."""
    return _unread(head) is not None


def _unread(head: bytes) -> str | None:
    """Name what iperf writes other than JSON; None: it is something else."""
    if head.lstrip()[:1] in (b"{", b"["):
        return None
    return next((what for line, what in _UNREAD.items() if line.search(head)), None)


def _runs_of(documents: Iterable[Node]) -> tuple[list[Run], list[str]]:
    runs: list[Run] = []
    errors: list[str] = []
    is_stream = False
    for document in documents:
        event = document.find("event")
        if event is None:
            if is_stream and document.find("intervals") is not None:
                is_stream = False  # --json-stream-full-output repeats everything at the end
                continue
            run = Run(document.at("start"), end=document.find("end"))
            intervals, error = document.find("intervals"), document.find("error")
            run.intervals = list(intervals.each()) if intervals else []
            run.other = next(filter(None, map(document.find, _OTHER)), None)
            run.error = error.text() if error else None
            runs.append(run)
        elif event.value == "start":
            runs.append(Run(document.at("data")))
            is_stream = True
        elif event.value == "error":
            why = document.at("data").text()
            if runs:
                runs[-1].error = why
            else:
                errors.append(why)
        elif runs and event.value == "interval":
            runs[-1].intervals.append(document.at("data"))
        elif runs and event.value == "end":
            runs[-1].end = document.at("data")
        elif runs and event.value in _OTHER:
            runs[-1].other = document.at("data")
    errors += [run.error for run in runs if run.error is not None]
    return [run for run in runs if run.intervals], errors


def directions_of(run: Run) -> list[Direction]:
    """Return what a run carried in each direction that it has intervals of."""
    other = [] if run.other is None else _directions(_run_of(run.other, run.start))
    found = []
    for one in _directions(run):
        heard = next((x for x in other if x.key["direction"] == one.key["direction"]), None)
        if one.end == "sender" and heard is not None and heard.end == "receiver":
            found.append(_heard(one, heard))
        else:
            found.append(one)
    return found


def _run_of(other: Node, start: Node) -> Run:
    """Return the run as the server wrote it, in JSON or as text."""
    if isinstance(other.value, str):
        began = start.find("test_start")
        return Run(_made(start, {"test_start": began and began.value}), _lines(other))
    intervals = other.find("intervals")
    return Run(other.at("start"), [*intervals.each()] if intervals else [], other.find("end"))


def _lines(text: Node) -> list[Node]:
    """Return the intervals in which a server received, from its text, to three digits."""
    found = [one.groups() for one in _LINE.finditer(text.value)]
    # Totals name the end at the end of the line; of several streams there is a line of sums.
    found = [one for one in found if one[-1].strip() in ("", "(omitted)")]
    found = [one for one in found if one[1] in (None, "[RX-S]")]
    has_sums = any(one[0] == "SUM" for one in found)
    intervals = []
    for stream, _, begin, end, rate, prefix, jitter, lost, packets, rest in found:
        if has_sums and stream != "SUM":
            continue
        seconds, bps = float(end) - float(begin), float(rate) * _PREFIXES[prefix]
        one = {
            "start": float(begin),
            "end": float(end),
            "seconds": seconds,
            "bytes": bps * seconds / 8,
            "bits_per_second": bps,
            "omitted": bool(rest.strip()),
            "sender": False,
        }
        if packets is not None and int(packets):
            one |= {"jitter_ms": float(jitter), "lost_packets": int(lost), "packets": int(packets)}
            one["lost_percent"] = 100 * int(lost) / int(packets)
        intervals.append(_made(text, {"sum": one}))
    return intervals


def _heard(one: Direction, other: Direction) -> Direction:
    """Return a direction with the intervals of the receiver, and the totals of both ends."""
    return Direction(
        key=one.key,
        intervals=other.intervals,
        end="receiver",
        sent=one.sent,
        received=one.received or other.received,
        whole=one.whole,
        is_udp=one.is_udp,
        is_complete=one.is_complete,
        ended_early=one.ended_early,
        omitted_s=one.omitted_s,
        target_bps=one.target_bps,
        begin_s=one.begin_s,
        notes=one.notes,
    )


def _directions(run: Run) -> list[Direction]:
    test = run.start.find("test_start")
    about = test.value if test is not None and _object(test) else {}
    streams = number(about.get("num_streams"))
    target = max(0.0, _or_zero(about.get("target_bitrate"))) * max(1.0, _or_zero(streams))
    is_client = run.start.find("connecting_to") is not None
    found = []
    for suffix, sums, totals in _sums(run):
        sends = _sends(sums[0], about, suffix, is_client=is_client)
        kept, notes = _kept(sums)
        found.append(
            Direction(
                key=_key(run.start, about, to_server=sends == is_client),
                intervals=kept,
                end="sender" if sends else "receiver",
                sent=totals.get("sum_sent"),
                received=totals.get("sum_received"),
                whole=totals.get("sum"),
                is_udp=about.get("protocol") == "UDP",
                # A server that sends is not told by the client what arrived.
                is_complete=run.error is None and run.end is not None and (is_client or not sends),
                ended_early=run.error is not None or run.end is None,
                omitted_s=_or_zero(about.get("omit")),
                target_bps=target,
                begin_s=_began(run.start),
                notes=tuple(notes),
            )
        )
    return found


def _sums(run: Run) -> Iterator[tuple[str, list[Node], dict[str, Node]]]:
    """Return the sums over streams of every interval and the totals, by suffix."""
    named = {
        suffix: [one for interval in run.intervals if (one := interval.find(f"sum{suffix}"))]
        for suffix in _SUFFIXES
    }
    if named[""] and not named[_SUFFIXES[1]] and (both := _by_streams(run.intervals)):
        # Up to 3.9, both directions have the same key, of which JSON has the last only.
        for suffix, sums, sends in zip(_SUFFIXES, both, (True, False), strict=True):
            yield suffix, sums, _totals_by_streams(run.end, sends=sends)
        return
    for suffix, sums in named.items():
        ends = {
            name: run.end.find(f"{name}{suffix}") if run.end is not None else None
            for name in _TOTALS
        }
        totals = {name: total for name, total in ends.items() if total and _object(total)}
        if sums:
            yield suffix, [one for one in sums if _object(one)], totals


def _by_streams(intervals: Sequence[Node]) -> tuple[list[Node], list[Node]] | None:
    """Add up the streams that this end sends, and the others; None where there are not both."""
    sums: dict[bool, list[Node]] = {True: [], False: []}
    for interval in intervals:
        streams = interval.find("streams")
        of_interval = [*streams.each()] if streams is not None else []
        for sends in sums:
            sums[sends] += _added([one for one in of_interval if _object(one)], sends=sends)
    return (sums[True], sums[False]) if sums[True] and sums[False] else None


def _totals_by_streams(end: Node | None, *, sends: bool) -> dict[str, Node]:
    streams = None if end is None else end.find("streams")
    if end is None or streams is None:
        return {}
    totals: dict[str, Node] = {}
    for name, of_end in _TOTALS.items():
        some = [one for stream in streams.each() if (one := stream.find(of_end)) and _object(one)]
        if total := _added(some, sends=sends):
            totals[name] = total[0]
    whole = end.find("sum")
    if "sum" in totals and whole is not None and _object(whole):
        # The receiver's seconds, which those of streams are not.
        totals["sum"].value["seconds"] = whole.value.get("seconds")
    return totals


def _added(streams: Sequence[Node], *, sends: bool) -> list[Node]:
    """Add up the streams of one direction to one object; none where there are no such streams."""
    some = [one for one in streams if (one.value.get("sender") is True) == sends]
    if not some:
        return []
    first = some[0].value
    total = {
        name: sum(number(one.value.get(name)) for one in some) for name in _ADDED if name in first
    }
    if total.get("packets", 0) > 0 and "lost_packets" in total:
        total["lost_percent"] = 100 * total["lost_packets"] / total["packets"]
    return [_made(some[0], {**first, **total})]


def _made(at: Node, value: Mapping[str, Any]) -> Node:
    """Return an object that was computed, with the place of what it was computed from."""
    return Node(at.file, at.path, dict(value))


def _sends(one: Node, about: Mapping[str, Any], suffix: str, *, is_client: bool) -> bool:
    """Whether the end that wrote the file sends in this direction."""
    sends = one.value.get("sender")
    if isinstance(sends, bool):
        return sends
    is_reverse = number(about.get("reverse")) == 1 or suffix != ""
    return is_client != is_reverse


def _kept(sums: Sequence[Node]) -> tuple[list[Node], list[Message]]:
    """Return the intervals that count, and notes on the others."""
    kept: list[Node] = []
    warm_up = short = 0
    # The last one is repeated where the other end was lost.
    sums = [one for i, one in enumerate(sums) if i == 0 or not _repeats(one, sums[i - 1])]
    lasting = [number(one.value.get("seconds")) for one in sums]
    known = sorted(one for one in lasting if math.isfinite(one))
    least = known[len(known) // 2] / 2 if known else -math.inf
    for one, seconds in zip(sums, lasting, strict=True):
        span = number(one.value.get("end")) - number(one.value.get("start"))
        # The interval in which a warm-up ends may count parts of both.
        if one.value.get("omitted") is True or abs(span - seconds) > _ROUNDING * seconds:
            warm_up += 1
        elif seconds < least:
            short += 1
        else:
            kept.append(one)
    notes = []
    if warm_up:
        notes.append(message(phrases.WARM_UP, count=counted([warm_up], "interval")))
    if short:
        notes.append(message("{n | counted('interval')} cut short left out", n=short))
    return kept, notes


def _repeats(one: Node, before: Node) -> bool:
    times = [(node.value.get("start"), node.value.get("end")) for node in (one, before)]
    return times[0] == times[1] and None not in times[0]


def _key(start: Node, about: Mapping[str, Any], *, to_server: bool) -> dict[str, str]:
    """Return the conditions of a direction; those that all runs share are not shown."""
    server = start.find("connecting_to")
    host = server.find("host") if server else None
    test = start.find("test_start")
    named = {name: test.find(name) for name in ("protocol", "num_streams")} if test else {}
    words = {
        "server": host.text() if host else None,
        "protocol": one.text() if (one := named.get("protocol")) else None,
        "streams": one.word() if (one := named.get("num_streams")) else None,
        "direction": "to server" if to_server else "to client",
    }
    for name, field_, unit in (
        ("rate limit", "target_bitrate", "bits/s"),
        ("length", "duration", "s"),
        ("amount", "bytes", "bytes"),
        ("write size", "blksize", "bytes"),
    ):
        value = number(about.get(field_))
        if 0 < value < math.inf:
            words[name] = chosen(value, unit)
    return {name: word for name, word in words.items() if word is not None}


def notes_on(direction: Direction) -> list[Message]:
    """Say what is not the receiver's, and what limited the rate besides the network."""
    carried = direction.carried
    if carried is None:
        return [
            message(
                "what the receiver got is not in the file{% if early %}, since the run ended "
                "early{% endif %}: the values are what was sent",
                early=direction.ended_early,
            )
        ]
    rate = number(carried.value.get("bits_per_second"))
    if rate >= 0.95 * direction.target_bps > 0 and not (direction.lost or 0) > 0.01:
        return [
            message(
                "the rate was limited to {rate} (-b): the network may carry more",
                rate=Chosen(direction.target_bps, "bits/s"),
            )
        ]
    return []


def environment(start: Node) -> str | None:
    """Return the system and the version of iperf3, without the name of the machine."""
    system, version = start.find("system_info"), start.find("version")
    words = system.text().split() if system else []
    # As in the output of uname -a, the second word is the name of the machine.
    phrase = " ".join([*words[:1], *words[2:3], *words[-1:]]) if len(words) > 3 else ""
    return ", ".join(filter(None, [phrase, version.text() if version else ""])) or None


def _began(start: Node) -> float | None:
    stamp = start.find("timestamp")
    if stamp is None:
        return None
    for name, factor in (("timemillisecs", 1e-3), ("timesecs", 1.0)):
        found = stamp.find(name)
        if found is not None:
            return time_of(found) * factor
    return None


def time_of(node: Node) -> float:
    """Return a number of seconds or milliseconds that can be one."""
    value = number(node.value)
    if not math.isfinite(value) or abs(value) > 1e14:
        raise node.wrong("expected a time in seconds")
    return value


def _or_zero(value: object) -> float:
    found = number(value)
    return found if math.isfinite(found) else 0.0


def _object(node: Node) -> bool:
    if not isinstance(node.value, dict):
        raise node.wrong("expected an object")
    return True
