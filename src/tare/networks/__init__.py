"""The network that a trial runs on: its shaping, its emulation, what was recorded of it."""
