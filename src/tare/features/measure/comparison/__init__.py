"""Commands compared in turns, until the verdict is known."""
