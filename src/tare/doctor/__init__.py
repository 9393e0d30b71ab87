"""Is this machine fit to measure on? Every check is one file with one ``UNIT``."""
