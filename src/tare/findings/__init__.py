"""Findings: pure functions of an experiment's results, one question a file."""

from tare.findings.answers import all_findings
from tare.findings.headline import headline

__all__ = ["all_findings", "headline"]
