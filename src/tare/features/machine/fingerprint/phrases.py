"""Sentences that several modules of this package share, as templates."""

LACKING_DIRECTORY = "no directory for its files, {why}: --directory DIR"
LACKING_BARE_ALONE = "it is measured on the bare machine alone: tare fingerprint {probe}"
