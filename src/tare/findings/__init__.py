"""Findings: pure functions of an experiment's results, one question a file."""

from tare.findings.answers import all_findings

__all__ = ["all_findings"]
