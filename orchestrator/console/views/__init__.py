"""Views of the console; each has its own drawing and help text."""
