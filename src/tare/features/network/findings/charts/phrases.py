"""Sentences that several modules of this package share, as templates."""

NOTHING = "no values can be shown"
MORE_LEVELS = "not drawn: {n | counted('more level')}"
