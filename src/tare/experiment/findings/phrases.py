"""Sentences that several modules of this package share, as templates."""

NONE_GOOD = "nothing to compare: no trial ended well"
VERSUS = "{name} vs. {reference}"
TRIALS = "at least {n | counted('trial')} per cell"
TABLE_NOTE = (
    "“Within {margin}”: the whole 95 % interval is. “Equally stable”: it is, and no "
    "difference is shown. “Less” and “more stable”: equality is rejected (Holm over cells "
    "and platforms). The range is that of single workers' values"
)
NO_COMMON_CELL = "no platform has cells that the reference has too"
BLOCKS = "at least {n | counted('common block')} per cell"
