"""Sentences that several modules of this package share, as templates."""

NOTHING = "no values can be shown"
RESPONSE_TIMES_NOTHING = "there are no requests to be drawn"
