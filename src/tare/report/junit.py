"""Verdicts as JUnit XML: a test case for each comparison, as readers of CI results want it.

The dialect is the one that GitLab, Jenkins and GitHub's actions agree on: ``testsuites`` /
``testsuite`` / ``testcase`` with ``failure`` or ``skipped``. A gate that is inconclusive is
skipped, not failed: nothing was shown. Whether it holds a merge up is said by the exit code, which
a CI can allow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from tare.findings.judgement import Difference
from tare.render.words import paragraph, sentences, text
from tare.results.message import Message

#: What XML 1.0 cannot hold, however it is escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(
    found: Sequence[Difference],
    gate: float | None,
    failures: Sequence[Message] = (),
    caveats: Sequence[Message] = (),
) -> str:
    """Write the document.

    Parameters
    ----------
    found : sequence of Difference
        A test case each.
    gate : float or None
        A comparison fails where its ratio is safely above 1 + gate; without a gate none does.
    failures : sequence of Message
        Trials that failed and are left out; they change no answer.
    caveats : sequence of Message
        What weakens all comparisons.
    """
    suite = Xml.Element("testsuite", name="tare compare")
    cases = [_case(suite, d, gate) for d in found]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": 0,
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    root = Xml.Element("testsuites", name="tare")
    for element in (root, suite):
        for name, count in counts.items():
            element.set(name, str(count))
        element.set("time", _seconds(sum(_time(d) for d in found)))
    lines = [f"Caveat: {caveat}" for caveat in sentences(caveats)]
    lines += [f"Failed: {paragraph(failures)}"] if failures else []
    if lines:
        Xml.SubElement(suite, "system-err").text = _text("\n".join(lines))
    root.append(suite)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _case(suite: Xml.Element, d: Difference, gate: float | None) -> Xml.Element:
    case = Xml.SubElement(
        suite,
        "testcase",
        classname=_text(f"tare.compare.{d.basis.metric}"),
        name=_text(f"{d.second} vs. {d.first}"),
        time=_seconds(_time(d)),
    )
    told = _text(f"{text(d.answer)}; {text(d.counted)}.")
    answer = None if gate is None else d.gate(gate)
    undecided = not d.comparison.verdict.conclusive if answer is None else answer == "inconclusive"
    if answer == "fail" and gate is not None:
        head = _text(text(d.gate_answer(gate)))
        Xml.SubElement(case, "failure", type=d.words.higher, message=head).text = told
    elif undecided:
        why = _text("; ".join(["inconclusive", d.ratio, *([text(d.further)] if d.further else [])]))
        Xml.SubElement(case, "skipped", message=why)
    Xml.SubElement(case, "system-out").text = told
    return case


def _time(d: Difference) -> float:
    return d.seconds * d.comparison.n


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _text(words: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", words)
