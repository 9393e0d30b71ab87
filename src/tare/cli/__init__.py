"""The command line: turns words into calls, and errors into messages and exit codes."""
