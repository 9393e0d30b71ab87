"""Sentences that several modules of this package share, as templates."""

CHART_PARTS = "{parts | join('; ')}"
NAMED = "{name}: {said}"
FINGERPRINT_FIGURE = "{name}: {value}"
