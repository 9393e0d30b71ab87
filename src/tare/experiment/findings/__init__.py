"""Findings: pure functions of an experiment's results, one question a file."""
