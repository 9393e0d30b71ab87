"""The agent: what crosses its stream, and the client that speaks to it."""
