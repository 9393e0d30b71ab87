"""Sentences that several modules of this package share, as templates."""

FINGERPRINT_STOPPED = "search stopped: {why}"
