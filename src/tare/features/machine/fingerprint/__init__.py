"""What this machine can do: probes, measured in rounds, with intervals and predictions."""
