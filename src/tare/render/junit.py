"""Comparisons as JUnit XML: a test case each, as readers of CI results want it.

The dialect is the one that GitLab, Jenkins and GitHub's actions agree on: ``testsuites`` /
``testsuite`` / ``testcase`` with ``failure`` or ``skipped``. A gate that is inconclusive is
skipped, not failed: nothing was shown. Whether it holds a merge up is said by the exit code, which
a CI can allow.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from tare.render.escaping import harmless
from tare.render.words import paragraph, sentences, shown, text
from tare.results.report import Compared, Envelope, Lost, Report

#: What XML 1.0 cannot hold, however it is escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


#: What `tare ci` reports is one test whatever the commits are, also where one does not build: CI
#: systems show the history of a test by its name.
CI_SUITE = "tare ci"
CI_CASE = {"classname": "tare.ci", "name": "head vs. base"}


def render(report: Report) -> str:
    """Write what a report compares; failed trials and caveats change no answer."""
    is_ci = report.command == "ci"
    suite = Xml.Element("testsuite", name=CI_SUITE if is_ci else "tare compare")
    for one in report.comparisons:
        _case(suite, one)
    for candidate in report.lost:
        _lost_case(suite, candidate)
    for case in suite if is_ci else ():
        case.attrib.update(CI_CASE)
    lines = [f"Caveat: {caveat}" for caveat in sentences(report.caveats)]
    lines += [f"Failed: {paragraph(report.failed)}"] if report.failed else []
    if report.notes:
        Xml.SubElement(suite, "system-out").text = possible(paragraph(report.notes))
    if lines:
        Xml.SubElement(suite, "system-err").text = possible("\n".join(lines))
    return _written(suite, sum(one.seconds for one in report.comparisons))


def failed(envelope: Envelope) -> str:
    """Write the error that ended a command: its exit code may be a gate's answer."""
    error = envelope.error
    assert error is not None
    is_ci = envelope.command == "ci"
    suite = Xml.Element("testsuite", name=CI_SUITE if is_ci else "tare")
    of = CI_CASE if is_ci else {"classname": "tare", "name": "tare"}
    case = Xml.SubElement(suite, "testcase", attrib={**of, "time": "0"})
    tag = {1: "failure", 2: "skipped"}.get(error.exit_code, "error")
    element = Xml.SubElement(case, tag, type=error.type, message=possible(error.message))
    element.text = possible(error.hint or "")
    return _written(suite, 0.0)


def _written(suite: Xml.Element, seconds: float) -> str:
    root = Xml.Element("testsuites", name="tare")
    counts = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
    for element in (root, suite):
        for name, path in (*counts.items(), ("skipped", "testcase/skipped")):
            element.set(name, str(len(suite.findall(path))))
        element.set("time", _seconds(seconds))
    root.append(suite)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _case(suite: Xml.Element, one: Compared) -> None:
    case = Xml.SubElement(
        suite,
        "testcase",
        classname=possible(f"tare.compare.{one.metric}"),
        name=possible(f"{one.b} vs. {one.a}"),
        time=_seconds(one.seconds),
    )
    gate = None if one.gate_reason is None else text(one.gate_reason)
    said = [text(one.answer), text(one.counted)]
    if gate is not None and one.outcome == "pass":
        # Where there is no verdict, the gate has the same ratio, unless it judges another one.
        said[: 0 if one.conclusive or one.gated else 1] = [gate]
    evidence = possible(f"{'; '.join(said)}.")
    if gate is not None and one.outcome == "fail":
        failure = Xml.SubElement(
            case, "failure", type=possible(one.failing), message=possible(gate)
        )
        failure.text = evidence
    elif one.outcome == "inconclusive":
        why = ["inconclusive", gate or shown(one.estimate)] + (
            [text(one.settle)] if one.settle else []
        )
        Xml.SubElement(case, "skipped", message=possible("; ".join(why)))
    Xml.SubElement(case, "system-out").text = evidence


def _lost_case(suite: Xml.Element, one: Lost) -> None:
    """Add a candidate without a comparison: a failure, or skipped where that is inconclusive."""
    name = possible(f"{one.b} vs. {one.a}")
    case = Xml.SubElement(suite, "testcase", classname="tare.compare", name=name, time="0")
    element = "failure" if one.gate == "fail" else "skipped"
    Xml.SubElement(case, element, type="failed", message=possible(text(one.gate_reason)))


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def possible(words: str) -> str:
    """Replace what XML 1.0 cannot hold, however it is escaped; write what would be obeyed."""
    return harmless(_IMPOSSIBLE.sub("\ufffd", words))
