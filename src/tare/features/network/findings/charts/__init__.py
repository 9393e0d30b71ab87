"""The pictures of these answers."""
