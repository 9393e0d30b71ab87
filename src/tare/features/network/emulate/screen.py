"""What ``tare net emulate`` says: what was verified, and how every host was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tare.cli import console
from tare.features.network.emulate.emulation import Emulation, HostSummary
from tare.features.network.emulate.tokens import Moment
from tare.features.network.emulate.verification import Check
from tare.render.text_plot import sparkline
from tare.render.words import sentence
from tare.results.message import message
from tare.units import chosen, quantity

#: Characters of a host's tokens over time.
_WIDTH = 60


def show_checks(checks: Iterable[Check]) -> None:
    """Print what was asked beside what was delivered."""
    rows = [("verified", "asked", "delivered", "off")]
    told = list(checks)
    for check in told:
        off = (
            ""
            if check.error is None
            else f"{round(100 * check.error, 1) + 0.0:+.1f} %".replace("-", "−")
        )
        delivered = "–" if check.delivered is None else quantity(check.delivered, check.unit)
        bad = "" if check.good else f"  > {chosen(check.within)}"
        # A budget is verified by that of a smaller bucket, which lasts for less than a second.
        what = "test budget" if check.what == "budget" else check.what
        named = f"host {check.host}, {what}"
        rows.append((named, chosen(check.asked, check.unit), delivered, off + bad))
    console.table(rows, to=console.err)
    for check in told:
        if check.why is not None:
            unmeasured = message(
                "host {host}, {what}: not measured, {why}",
                host=check.host,
                what=check.what,
                why=check.why,
            )
            console.err.print(sentence(unmeasured))


def show(emulation: Emulation, moments: Sequence[Moment]) -> None:
    """Print what became of every host."""
    buckets = [host for host in emulation.hosts if host.capacity_bits]
    titles = ["host", "sent", "dropped"]
    titles += ["tokens left", "capacity", "depleted at", "depleted for", "times"] if buckets else []
    rows = [titles]
    for host in emulation.hosts:
        row = [str(host.host), quantity(8 * host.sent_bytes, "bits"), str(host.dropped_packets)]
        row += _tokens(host)
        rows.append(row + [""] * (len(titles) - len(row)))
    console.table(rows, to=console.err)
    if len(moments) > 1 and buckets:
        console.err.print(f"Tokens over {emulation.seconds:.3g} s, from none to a full bucket:")
        for host in buckets:
            place = emulation.hosts.index(host)
            kept = [
                of for one in moments for of in one.tokens_bits[place : place + 1] if of is not None
            ]
            console.err.print(f"{host.host:>4} │{sparkline(kept, host.capacity_bits, _WIDTH)}│")


def _tokens(host: HostSummary) -> list[str]:
    if host.tokens_end_bits is None or host.capacity_bits is None:
        return []
    left, of = quantity(host.tokens_end_bits, "bits"), chosen(host.capacity_bits, "bits")
    if host.first_dry_s is None:
        return [left, of, "never", "", "0"]
    return [left, of, f"{host.first_dry_s:.2f} s", f"{host.dry_s:.2f} s", str(host.times_dry)]
