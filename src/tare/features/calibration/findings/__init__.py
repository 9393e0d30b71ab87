"""What an experiment that sweeps CPU answers."""
