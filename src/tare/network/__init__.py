"""Networks, measured and made: what drives ``tare-agent measure`` and ``tare-agent emulate``."""
