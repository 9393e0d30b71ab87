"""Options: one record for each, on the command line, in experiment files, or in both."""
