"""One run: executed, kept in a folder, measured against the machine, judged."""
