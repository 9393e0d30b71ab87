"""Pictures of calibrations: one sweep, several, a mapping between two machines."""
