"""What a person comes for: one folder each, with all that belongs to it. None imports another."""
