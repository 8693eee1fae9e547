"""Live side of a run: reports its progress to watchers and applies their commands."""
