"""``tare doctor``: whether the machine is fit to measure on, and what would make it so."""
