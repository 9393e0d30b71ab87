"""The pipeline: specification, plan, session, journal, results, findings, report."""
