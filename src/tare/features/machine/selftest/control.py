"""A/A control: how often a program is called different from itself on this machine.

Real comparisons by ``tare compare``'s own machinery, noise and all. Where no time is given to
settle every one of them, that is a verdict as well ("inconclusive"), and no alarm.
"""

from __future__ import annotations

import collections
import shlex
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
from scipy import stats

from tare.errors import TrialError, Typed
from tare.experiment import machine_facts, pipeline, session
from tare.experiment.specification import Experiment, Stopping
from tare.host.state import Fact
from tare.render.vocabulary import TIMES
from tare.results.message import Message
from tare.results.verdict import Verdict
from tare.workloads.specification import WorkloadSpec

#: What is claimed of the rate of alarms, and how rare it must be before it is called wrong.
CLAIMED, RARE = 0.05, 0.025
#: A comparison's own budget, long enough for several looks; a twentieth of what is usual.
EACH_S = 2.0
#: About 3 ms of work.
STEPS = 1_000_000
#: How the names of facts of false alarms begin.
ALARM_FACTS = "selftest_false_alarms"
#: Three times what is claimed: 2 alarms of 40, or none of 19.
_NEAR = 0.15


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """Comparisons of a program with itself."""

    date: str
    boot_id: str | None
    platform: str
    comparisons: int
    alarms: int
    #: So many, or more, are too many for a rate of 5 %.
    limit: int
    #: The true rate is below this, 95 % sure (exact, one-sided).
    rate_below: float
    verdicts: dict[str, int]
    pairs: int
    seconds: float

    @property
    def consistent(self) -> bool:
        """Whether the alarms may come from a rate of 5 %."""
        return self.alarms < self.limit

    @property
    def close(self) -> bool:
        """Whether there are enough comparisons to say that the rate is near what is claimed."""
        return self.rate_below <= _NEAR

    def facts(self) -> list[Fact]:
        """Return what later sessions store of it."""
        return [
            Fact(name=f"{ALARM_FACTS}_date", value=self.date),
            Fact(name=ALARM_FACTS, value=f"{self.alarms} of {self.comparisons}"),
        ]


def measure(
    platform: str,
    most: int,
    budget_s: float,
    seed: int,
    folder: Callable[[], AbstractContextManager[Path]],
    tell: Callable[[str, int, int], None],
) -> FalseAlarms:
    """Compare a program with itself, again and again.

    Parameters
    ----------
    platform : str
        Where.
    most : int
        Comparisons at most.
    budget_s : float
        No further comparison begins after it. How many there are does not depend on what they
        say.
    seed : int
        Of the orders.
    folder : callable
        Gives a folder for the results of one comparison.
    tell : callable
        Takes what is done, how far it is, and of how many.
    """
    began = time.monotonic()
    verdicts: collections.Counter[str] = collections.Counter()
    pairs = done = alarms = 0
    while done < most and (not done or time.monotonic() - began < budget_s):
        each = (time.monotonic() - began) / done if done else EACH_S
        expected = min(most, max(done + 1, round(budget_s / each)))
        tell("comparisons of a program with itself", done, expected)
        with folder() as place:
            verdict, n = compare(platform, seed + done, place)
        verdicts[TIMES.of(verdict)] += 1
        alarms += verdict.differs
        pairs += n
        done += 1
    return FalseAlarms(
        date=machine_facts.now(),
        boot_id=machine_facts.boot_id(),
        platform=platform,
        comparisons=done,
        alarms=alarms,
        limit=limit(done),
        rate_below=rate_below(alarms, done),
        verdicts=dict(verdicts.most_common()),
        pairs=pairs,
        seconds=time.monotonic() - began,
    )


def compare(platform: str, seed: int, folder: Path) -> tuple[Verdict, int]:
    """Compare once, and return the verdict and the number of pairs.

    Raises
    ------
    TrialError
        If the program always failed.
    """
    from tare.experiment import store
    from tare.experiment.findings.judgement import differences
    from tare.render.words import sentence

    prepared = pipeline.check(question(platform, seed))
    pipeline.execute(prepared, folder, session.Silent())
    found = differences(store.load(folder))
    if isinstance(found, Message):
        raise TrialError(
            sentence(found),
            Typed(f"tare selftest --platform {shlex.quote(str(platform))} --workers 1"),
        )
    return found[0].comparison.verdict, found[0].comparison.n


def question(platform: str, seed: int) -> Experiment:
    """Return the question whether a program differs from itself."""
    same = [
        WorkloadSpec(name=name, command=("truth", "work", str(STEPS)), of_agent=True)
        for name in ("a", "b")
    ]
    return Experiment(
        name="compare",
        question="Does a program differ from itself?",
        workloads=tuple(same),
        factors={"platform": (platform,), "workers": (1,), "pinning": ("none",)},
        metric="wall_ns",
        seed=seed,
        stopping=Stopping(compare="workload", budget_s=EACH_S),
        fingerprint=False,
    )


def limit(n: int) -> int:
    """Return from how many alarms on a rate of 5 % is no longer believed: 17 of 200."""
    return int(stats.binom.ppf(1 - RARE, n, CLAIMED)) + 1


def rate_below(alarms: int, n: int, confidence: float = 0.95) -> float:
    """Return the exact one-sided bound of the true rate.

    References
    ----------
    Clopper and Pearson, Biometrika 26, 1934.
    """
    return 1.0 if alarms >= n else float(stats.beta.ppf(confidence, alarms + 1, n - alarms))
