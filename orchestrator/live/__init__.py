"""The live side of a run: what it tells while it goes on, and commands that change it."""
