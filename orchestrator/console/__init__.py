"""The console: a terminal UI in which a person runs, watches, steers and re-reads experiments."""
