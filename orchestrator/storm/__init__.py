"""Ports that say PAUSE or PFC again in time, so that what they hold is never let go by chance."""
