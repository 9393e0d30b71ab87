"""What shapes a network, as its traces say: constant, noisy, a token bucket, capped."""
