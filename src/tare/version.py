"""The version of tare: apart from the package itself, whose functions load features."""

__version__ = "0.1.0"
