"""The paces at which real frames are sent: seconds of the run per second of the clock."""

SLOWEST, FASTEST = 0.001, 100.0
"""The slowest is the step, too."""
