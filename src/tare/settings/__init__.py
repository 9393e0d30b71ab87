"""What tare can change on a machine, and put back: one file a setting."""
