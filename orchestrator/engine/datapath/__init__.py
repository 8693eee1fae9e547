"""The loop that drives nodes with real frames on real sockets, off the GIL."""
