"""Puts words on results: the terminal, pages and files, from data alone."""
