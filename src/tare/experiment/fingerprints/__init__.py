"""Fingerprints of machines and networks, as sessions keep and compare them."""
