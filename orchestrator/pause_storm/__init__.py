"""PAUSE and PFC storm generator: sends refreshes in time, so that the neighbour stays paused."""
