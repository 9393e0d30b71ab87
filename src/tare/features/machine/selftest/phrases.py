"""Sentences that several modules of this package share, as templates."""

PLACE = "{program} on {platform}"
