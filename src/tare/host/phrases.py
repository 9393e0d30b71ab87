"""Sentences that several modules of this package share, as templates."""

NOT_VISIBLE = "not visible here"
