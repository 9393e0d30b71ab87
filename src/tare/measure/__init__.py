"""What several features use to measure."""
