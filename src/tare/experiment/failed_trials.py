"""Trials that failed on some of several hosts: how many, and where most of them."""

from __future__ import annotations

from collections.abc import Mapping

from tare.results.message import Message, message

#: Hosts that are named.
_MOST_NAMED = 4


def said(by_host: Mapping[str, tuple[int, int]]) -> Message | None:
    """Say on which hosts trials failed, first the one that lost the largest part; None: nowhere.

    Parameters
    ----------
    by_host : mapping of str to (int, int)
        How many failed, of how many.
    """
    lost = {name: (n, total) for name, (n, total) in by_host.items() if n}
    if not lost:
        return None
    worst = sorted(lost, key=lambda name: lost[name][0] / lost[name][1], reverse=True)
    shown = [
        message("{n} of {total} on {host}", host=name, n=lost[name][0], total=lost[name][1])
        for name in worst[:_MOST_NAMED]
    ]
    n, more = sum(n for n, _ in lost.values()), len(worst) - len(shown)
    return message(
        "{n | counted('trial')} failed and {% if n == 1 %}is{% else %}are{% endif %} left "
        "out: {hosts | join(', ')}{% if more %} and on {more | counted('host')} more"
        "{% endif %}",
        n=n,
        hosts=shown,
        more=more,
    )
