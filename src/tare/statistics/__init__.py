"""Statistics: pure functions of arrays and a seed, one method a file.

Usable without an experiment, on plain arrays (docs/reference/library.md)::

    from tare.statistics.intervals import quantile_interval
    quantile_interval(values)
"""
