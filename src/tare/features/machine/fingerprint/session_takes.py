"""What a session finds of its machine before and after its trials, as lines of its journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tare.experiment.fingerprints.machine.activity import Watch, busy, share
from tare.experiment.fingerprints.machine.difference import Take, differences, rule
from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.experiment.journal import Activity, MachineFigure, MachineTake, Moment
from tare.experiment.session.request import Probing
from tare.features.machine.fingerprint import brief
from tare.registry import Probe
from tare.results.message import Amount, Message, message


class SessionTakes:
    """Probes the machine twice in a session.

    A take that others disturbed is repeated; so is, once, the first one that differs from those
    before the trials: what shows in one take alone is no change of the machine.

    Parameters
    ----------
    probes : mapping
        What the agent's probes say of their metrics.
    tell : callable
        Told before a take is repeated.
    probing : Probing
        How long a take is, and how often it is repeated.
    """

    def __init__(
        self, probes: Mapping[str, Probe], tell: Callable[[Message], None], probing: Probing
    ) -> None:
        self._probes = probes
        self._tell = tell
        self._probing = probing
        #: Undisturbed takes so far.
        self._calm: list[Fingerprint] = []

    def __call__(self, moment: Moment) -> list[MachineTake | MachineFigure]:
        """Probe the machine.

        Raises
        ------
        PlatformError, AgentError
            If no agent works on the bare machine.
        """
        lines: list[MachineTake | MachineFigure] = []
        for number, (found, activity) in enumerate(self._takes(), 1):
            lines.append(MachineTake(moment=moment, take=number, activity=activity))
            lines += self._figures(moment, number, found)
        return lines

    def _takes(self) -> Iterator[tuple[Fingerprint, Activity]]:
        confirmed = not self._calm
        earlier = [_values(one) for one in self._calm]
        most = self._probing.repeats
        for repeat in range(1, most + 2):
            watch = Watch()
            found = brief.take(self._probing.seconds, probes=self._probing.probes)
            activity = watch.activity()
            yield found, activity
            why = message("others use {share} of it", share=Amount(share(activity), "share"))
            if not busy(activity):
                self._calm.append(found)
                if confirmed or not self._differs(earlier, found):
                    return
                confirmed, why = True, message("it differs from before")
            if repeat <= most:
                self._tell(
                    message(
                        "probing the machine again, {repeat} of {most} at most: {why}",
                        repeat=repeat,
                        most=most,
                        why=why,
                    )
                )

    def _differs(self, earlier: list[Take], now: Fingerprint) -> bool:
        rules = {m: rule(m, figure.unit, self._probes) for m, figure in now.metrics.items()}
        return any(c.verdict == "changed" for c in differences(earlier, [_values(now)], rules))

    def _figures(self, moment: Moment, number: int, found: Fingerprint) -> Iterator[MachineFigure]:
        for metric, figure in found.metrics.items():
            known = rule(metric, figure.unit, self._probes)
            yield MachineFigure(
                moment=moment,
                metric=metric,
                unit=known.unit,
                better=known.better,
                margin=known.margin,
                values=figure.values,
                take=number,
            )


def _values(found: Fingerprint) -> Take:
    return {metric: figure.values for metric, figure in found.metrics.items()}
