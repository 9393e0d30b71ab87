"""A fleet: one experiment on many hosts, each a laboratory of its own; on Dask distributed."""
