"""What an experiment on emulated networks answers."""
