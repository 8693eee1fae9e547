"""The views of the console: each draws what it is shown, and knows its own help."""
