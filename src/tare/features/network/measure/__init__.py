"""``tare net measure``: bandwidth and latency, interval by interval."""
