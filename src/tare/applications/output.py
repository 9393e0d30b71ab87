"""What a trial of an application printed: its metrics, and whether it came to a right result."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tare import files
from tare.applications import expressions
from tare.applications.refusal import Refusal
from tare.results.message import message
from tare.workloads.application import Application, ApplicationMetric, OutputCheck

#: Of a file in /data that is compared with what is printed.
_MOST_EXPECTED = 1 << 16
#: Of what was printed, as an error shows it.
_SHOWN = 80

#: A comma stands between groups of three digits alone.
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|"
    r"[+-]?\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
)
#: Of what was printed, the last lines that may be a document.
_MOST_LINES = 1000

#: Standard output and error.
Streams = Mapping[str, bytes]
#: Reads a statistic of what was printed in a format: of what, quantile or None for the mean.
Reading = Callable[[bytes, str, str | None, float | None], float | None]


def values(
    application: Application, streams: Streams, reading: Reading
) -> Iterator[tuple[str, float]]:
    """Yield name and value of each metric that was printed, in the unit of its name."""
    for metric in application.metrics:
        found = _printed(metric, streams[metric.stream], reading)
        if found is not None:
            yield metric.name, found * metric.scale


def refusal(
    application: Application,
    streams: Streams,
    given: Mapping[str, float],
    fill: Callable[[str], str],
    data: Path | None,
) -> Refusal | None:
    """Return why an execution is not valid; None: it is.

    Parameters
    ----------
    application : Application
    streams : mapping
        What was printed.
    given : mapping
        Its :func:`values`.
    fill : callable
        Puts parameters and levels in the place of placeholders.
    data : Path or None
        Where what is seen as /data is on this machine.
    """
    for check in application.check.outputs:
        found = _broken(check, streams[check.stream], fill, data)
        if found is not None:
            return found
    missing = next((m for m in application.metrics if m.name not in given and not m.optional), None)
    if missing is not None:
        how = missing.pattern or ".".join(missing.json or ()) or missing.format or ""
        return Refusal(
            "application.no_metric",
            message(
                "it printed no number of {metric} to {stream}, by {how}",
                metric=missing.name,
                how=_short(how),
                stream=missing.stream,
            ),
        )
    return None


def _broken(
    check: OutputCheck, printed: bytes, fill: Callable[[str], str], data: Path | None
) -> Refusal | None:
    stream = check.stream
    if check.sha256 is not None and hashlib.sha256(printed).hexdigest() != check.sha256:
        return Refusal(
            "application.check.sha256",
            message(
                "what it printed to {stream} is not what the check expects (sha256)", stream=stream
            ),
        )
    text = printed.decode(errors="replace")
    if check.absent is not None and (found := expressions.first(check.absent, text)) is not None:
        return Refusal(
            "application.check.present",
            message(
                "it printed to {stream} what makes a trial invalid: {found}",
                stream=stream,
                found=_short(found),
            ),
        )
    if check.pattern is None:
        return None
    last = expressions.last(check.pattern, text)
    if last is None:
        return Refusal(
            "application.check.absent",
            message(
                "it did not print to {stream} what the check expects: {pattern}",
                stream=stream,
                pattern=_short(check.pattern),
            ),
        )
    return _unlike(check, last.strip(), fill, data)


def _unlike(
    check: OutputCheck, got: str, fill: Callable[[str], str], data: Path | None
) -> Refusal | None:
    """Return why what an expression found is not what it has to be."""
    wanted = None if check.equals is None else fill(check.equals)
    if check.equals_file is not None:
        wanted = _expected(check.equals_file, data)
        if wanted is None:
            return Refusal(
                "application.check.no_file",
                message(
                    "the check compares it with /data/{file}, which prepare did not leave",
                    file=check.equals_file,
                ),
            )
    if wanted is not None and got != wanted.strip():
        return Refusal(
            "application.check.unequal",
            message(
                "it printed {found}, and the check expects {wanted}",
                found=_short(got),
                wanted=_short(wanted),
            ),
        )
    low, high = check.minimum, check.maximum
    if low is None and high is None:
        return None
    number = _number(got)
    if number is None or (low is not None and number < low) or (high is not None and number > high):
        return Refusal(
            "application.check.range",
            message(
                "it printed {found}, and the check expects a number{% if low is not none %} "
                "of at least {low}{% endif %}{% if high is not none %}"
                "{% if low is not none %} and{% else %} of{% endif %} at most {high}"
                "{% endif %}",
                found=_short(got),
                low=low,
                high=high,
            ),
        )
    return None


def _expected(name: str, data: Path | None) -> str | None:
    """Return what a file in /data holds; None: there is none that can be read."""
    if data is None:
        return None
    try:
        # No link in /data leads out of it, on this machine.
        path = (data / name).resolve()
        if not path.is_relative_to(data.resolve()):
            return None
        with files.open_plain(path) as file:
            return file.read(_MOST_EXPECTED).decode(errors="replace")
    except OSError:
        return None


def _printed(metric: ApplicationMetric, printed: bytes, reading: Reading) -> float | None:
    if metric.format is not None:
        return reading(printed, metric.format, metric.series, metric.quantile)
    text = printed.decode(errors="replace")
    if metric.pattern is not None:
        last = expressions.last(metric.pattern, text)
        return None if last is None else _number(last)
    assert metric.json is not None
    return _in_json(metric.json, text)


def _in_json(keys: tuple[str, ...], text: str) -> float | None:
    """Return the number at some keys of all of a text, or of its last line that is a document."""
    for part in (text, *text.splitlines()[: -_MOST_LINES - 1 : -1]):
        if not part.lstrip().startswith(("{", "[")):
            continue
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        for key in keys:
            if isinstance(found, dict):
                found = found.get(key)
            elif (
                isinstance(found, list)
                and key.isascii()
                and key.isdigit()
                and int(key) < len(found)
            ):
                found = found[int(key)]
            else:
                found = None
        if isinstance(found, int | float) and not isinstance(found, bool):
            return _number(str(found))
    return None


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    found = float(text.replace(",", ""))
    return found if math.isfinite(found) and abs(found) < 1e15 else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
