"""What is to be published of a network, and checked before its results are compared."""
