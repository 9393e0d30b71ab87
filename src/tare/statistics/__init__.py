"""Statistics: pure functions of arrays and a seed, one method a file."""
