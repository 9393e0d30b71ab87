"""Sentences that several modules of this package share, as templates."""

LACKING_DIRECTORY = "no directory for its files, {why}: --directory DIR"
PAGE_COMPLETE = "everything requested was measured"
STAIRCASE_CACHE = "{name} {size}"
LACKING_BARE_ALONE = "it is measured on the bare machine alone: tare fingerprint {probe}"
PLATFORM_UNKNOWN = "{platform} was not measured{% if why %}: {why}{% endif %}"
