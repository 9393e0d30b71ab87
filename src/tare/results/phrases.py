"""Sentences that several modules of this package share, as templates."""

SETTLE_TRIALS = "at least {trials | counted('trial')} per cell"
FAILURES_ALL = (
    "{% if trials == 1 %}the only trial{% else %}all {trials} trials{% endif %}"
    "{% if levels %} {on} {levels | listing}{% endif %} failed"
)
OVERVIEW_TITLE = (
    "{metric | metric}{% if fixed %}, {fixed | join(', ')}{% endif %}{% if margin %} (margin "
    "{margin}){% endif %}"
)
SETTLE_MORE = "more trials; how many is not known"
SERIES_WARMUP_COLD = "the first run took {times} as long: a cold start"
NET_FINGERPRINT_PART = "{name} {value}"
TASKS_QUESTION_RUNS = "How did each task end?"
RUN_BY_HAND = (
    "stopped by hand after {% if asked %}{n} of {asked | counted('trial')}{% else %}"
    "{n | counted('trial')}{% endif %}{% if kept %}; --resume continues{% endif %}"
)
RUN_OFTEN = "{failed} of {trials} trials failed"
DIFFERENCE_LONGER_LIMIT = "more pairs do not settle it, a longer --timeout would"
NET_KIND_TEXTS = {
    "constant": "constant: one rate",
    "noisy": "noisy: one rate, with a large spread",
    "drifting": "drifting: the rate changes slowly",
    "stepped": "stepped: the rate changes and stays, as after a change of the limit",
    "contention": "contention: up and down between rates, as where others share the network",
    "drop": "a drop: consistent with a token bucket, not confirmed",
    "bucket": "a token bucket",
    "boost": "a boost: every burst begins fast, after any idle period",
    "declining": "declining: slower the longer it sends, as with thermal throttling",
    "hysteresis": "hysteresis: idle periods restore the rate, but not as a bucket would",
    "capped": "capped: held at one rate from the start",
    "interrupted": "interrupted: outages, and no other change of rate",
    "starved": "inconclusive: an end had no CPU",
}
