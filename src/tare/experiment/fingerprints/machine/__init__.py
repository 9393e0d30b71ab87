"""Fingerprints of a machine as data: the document, and whether two are of the same machine."""
