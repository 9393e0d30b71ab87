"""The report of an experiment: what its folder says, as a document."""
