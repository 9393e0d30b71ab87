"""Sentences that several modules of this package share, as templates."""

UNRESOLVED = "all {n} values are equal, or nearly all: their resolution is unknown"
SERIES_FEW = "{n | counted('value')} {% if n == 1 %}is{% else %}are{% endif %} too few"
EQUAL = "all values are equal"
DEPENDENT = (
    "{n} autocorrelated trials count as about {effective} independent ones for "
    "{quantile or 'the median'}{% if needs %}, {needs} are needed{% endif %}"
)
FEW = "n = {n} is too small, needs ≥ {needs}"
