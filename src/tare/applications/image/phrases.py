"""Sentences that several modules of this package share, as templates."""

IMAGE_WAITING = "making the image: another tare process is making it; waiting"
