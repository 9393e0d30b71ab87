"""Sentences that several modules of this package share, as templates."""

SETTINGS_NONE = "nothing was measured"
