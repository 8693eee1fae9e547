"""A simulated run on several cores."""
