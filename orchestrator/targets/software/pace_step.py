"""Paces of real-time runs: seconds of the run per second of the clock."""

SLOWEST, FASTEST = 0.00001, 100.0
STEP = 0.000001
