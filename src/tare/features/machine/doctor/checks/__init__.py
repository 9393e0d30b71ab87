"""What ``tare doctor`` checks: each check is one file with one ``UNIT``."""
