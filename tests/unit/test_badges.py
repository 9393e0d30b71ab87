"""The badge of every finding says what its text says: decided, in part, or not at all.

What findings are made from is planted: nothing differs, much does, or there is too much noise to
know; with one trial, with few, and with enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import networked
import pytest
from said import assert_survives_json
from synthetic import Behave, Behaviour, make

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.finding import judged, settled
from tare.experiment.findings.headline import summarize
from tare.experiment.results import Results
from tare.experiment.specification import Stopping
from tare.render.vocabulary import SPREADS, TIMES, VALUES, Words
from tare.render.words import paragraph, text
from tare.results.finding import Finding
from tare.results.message import Chosen, each
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
    Verdict,
)
from tare.wiring import SUPPLIES

#: Words by which the first sentence would deny what a badge of yes affirms.
DENIED = re.compile(r"\bnot shown\b|\b(is|are|do|does) not\b|^no\b", re.IGNORECASE)
#: Of questions whether something stayed the same, a denial of changes says yes.
SAME = {"same_machine", "same_network"}
#: Words by which texts tell that something is not known.
OPEN = re.compile(
    r"inconclusive|decided nowhere|too few|cannot be told|no interval"
    r"|not known|was not measured|not identifiable|No platform is shown",
    re.IGNORECASE,
)


def equal(levels: dict[str, str]) -> Behaviour:
    return Behaviour(spread=0.002, within=0.0005)


def unlike(levels: dict[str, str]) -> Behaviour:
    slow, many = levels["platform"] == "docker", levels["workers"] == "2"
    return Behaviour(
        mean_ns=2e8 * (1.3 if slow else 1) * (1.2 if many else 1),
        spread=0.03 if slow else 0.005,
        warmup=0.3,
        inputs=0.1,
        waiting=0.5,
    )


def noisy(levels: dict[str, str]) -> Behaviour:
    return Behaviour(spread=0.3, outliers=0.1)


NOISE: dict[Behave, float] = {equal: 0.01, unlike: 0.02, noisy: 0.6}
EXPERIMENTS: dict[str, Callable[[Behave, int], Results]] = {
    "platforms": lambda behave, trials: make(
        behave,
        platforms=("bare", "docker", "runc"),
        pinnings=("none", "compact"),
        trials=trials,
        iterations=12,
        inputs=3,
    ),
    "three platforms": lambda behave, trials: make(
        behave, platforms=("bare", "docker", "runc"), workers=(1,), trials=trials
    ),
    "sizes": lambda behave, trials: make(
        behave, workers=(1,), sizes=("0.25c", "0.5c", "1c", "2c"), trials=trials
    ),
    "one cell": lambda behave, trials: make(
        behave, platforms=("bare",), workers=(1,), trials=trials
    ),
    "a comparison": lambda behave, trials: make(
        behave, workers=(1,), trials=trials, stopping=Stopping(compare="platform")
    ),
    "networks": lambda behave, trials: networked.make(
        trials=trials, program=networked.Program(noise=NOISE[behave])
    ),
}


#: Some findings on networks are conclusive with more than 30 trials only.
TRIALS = [(name, n) for name in EXPERIMENTS for n in (1, 7, 45 if name == "networks" else 30)]


@pytest.mark.parametrize("behave", NOISE)
@pytest.mark.parametrize(("name", "trials"), TRIALS)
def test_badge_and_text_say_the_same(name: str, behave: Behave, trials: int) -> None:
    for found in all_findings(EXPERIMENTS[name](behave, trials), SUPPLIES.findings()):
        answer = paragraph(found.answer)
        open_ = OPEN.search(answer) is not None
        told = f"{found.name}: {found.word}: {answer}"
        if found.shown == "none":
            assert not open_, told
        if found.shown == "yes" and found.name not in SAME:
            assert not DENIED.search(text(each(found.answer)[0])), told
        if found.shown in ("inconclusive", "partly"):
            assert open_, told


@pytest.mark.parametrize(
    ("verdict", "words", "margin", "word"),
    [
        (HIGHER, TIMES, Chosen(0.02), "slower"),
        (LOWER_WITHIN, TIMES, Chosen(0.02), "faster (within 2 %)"),
        (EQUIVALENT, TIMES, Chosen(0.02), "equivalent (within 2 %)"),
        (LOWER, VALUES, Chosen(0.02), "lower"),
        (HIGHER_WITHIN, SPREADS, Chosen(0.5, "growth"), "less stable (within 1.5 ×)"),
        (LOWER, SPREADS, Chosen(0.5, "growth"), "more stable"),
        (EQUIVALENT, SPREADS, Chosen(0.5, "growth"), "equally stable (within 1.5 ×)"),
        (INCONCLUSIVE, SPREADS, Chosen(0.5, "growth"), "inconclusive"),
    ],
)
def test_a_badge_has_the_words_of_its_kind_of_question(
    verdict: Verdict, words: Words, margin: Chosen, word: str
) -> None:
    answered = judged(verdict, words, margin)
    finding = Finding(name="x", question="?", answer="!", closed=False, **answered)
    assert finding.word == word
    assert finding.sign
    assert_survives_json(finding)


@pytest.mark.parametrize(
    ("behave", "stopping", "lead", "verdict"),
    [
        (equal, Stopping(), "stability", "equally stable"),
        (unlike, Stopping(), "stability", "less stable"),
        (equal, Stopping(compare="platform"), "difference", "equivalent"),
        (unlike, Stopping(compare="platform"), "difference", "slower"),
    ],
)
def test_the_badge_of_a_page_is_that_of_the_leading_finding(
    behave: Behave, stopping: Stopping, lead: str, verdict: str
) -> None:
    results = make(behave, workers=(1,), trials=100, stopping=stopping)
    found = all_findings(results, SUPPLIES.findings())
    assert summarize(results, found).lead == lead
    (leading,) = [one for one in found if one.name == lead]
    assert leading.verdict == verdict


def test_a_question_is_settled_by_its_parts() -> None:
    assert settled([True, True]) == "none"
    assert settled([True, False]) == "partly"
    assert settled([False, False]) == "inconclusive"
