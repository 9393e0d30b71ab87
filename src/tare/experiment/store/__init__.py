"""What an experiment's folder holds, read from its journals, and exported as tables."""

from tare.experiment.store.collector import load

__all__ = ["load"]
