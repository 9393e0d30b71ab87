"""The machine as the kernel shows it, and what tare changes and leaves on it."""
