"""Sentences that several modules of this package share, as templates."""

TRUST_TABLE = "Every series: {metric}"
REFUSAL_EMPTY = "a series has no values"
TRUST_FILE = "{file}: {said}"
