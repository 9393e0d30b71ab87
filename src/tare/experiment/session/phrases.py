"""Sentences that several modules of this package share, as templates."""

GONE = "{who} has ended"
KILLED = (
    "service {service}{% if hosts %} on {hosts | counted('host')}{% endif %} did not end "
    "within {limit} of its stop signal and was killed"
)
MEMORY = "the kernel ended a process of a service for want of memory; a larger size gives more"
