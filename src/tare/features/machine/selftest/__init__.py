"""Does tare itself tell the truth here? Programs that know their own truth, on every platform."""
