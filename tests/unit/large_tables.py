"""Reports of one section, in which a large table stands."""

from __future__ import annotations

from tare.results.finding import Finding
from tare.results.report import Origin, Report, Section

HOSTILE = (
    "</script><script>pwned=1</script>",
    "<img src=x onerror=pwned=1>",
    "\"><svg onload=pwned=1> ' & &amp; <!--",
    "{{ 7 * 7 }} ${pwned=1} `x`",
    "=cmd|' /C calc'!A0",
    'a,"b"\nc\td',
    "is:correct !not",
    "日本語 👩‍👩‍👧 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞ שלום",
    "long_name_without_any_blank_" * 20,
)


def report() -> Report:
    """Make a report whose only section is of the finding "tasks"."""
    finding = Finding(name="tasks", question="Where?", answer="See below.", verdict="none")
    return Report(
        name="tasks",
        question="Which?",
        answers=("None.",),
        strip=(),
        sections=(Section(finding),),
        origin=Origin(commands=("tare",), versions=("1",)),
    )
