"""``tare experiment``: from a file with a question to its report."""
