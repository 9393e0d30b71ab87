"""Sweeps of CPU: how speed follows the quota, and why it does not."""
