"""Fingerprints of a network as data: the document, and whether two are of the same network."""
