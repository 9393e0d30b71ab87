"""What this machine is: doctor, fingerprint, selftest."""
