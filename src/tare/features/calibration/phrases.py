"""Sentences that several modules of this package share, as templates."""

PAGE_NO_CPU = "unknown CPU"
SETTINGS_NONE = "nothing was measured"
