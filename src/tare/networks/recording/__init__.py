"""What was measured on a network, in the files that keep it."""
