"""``tare net emulate``: a network with a rate, a trace or a token bucket."""
