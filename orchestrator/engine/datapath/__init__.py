"""Real-time data path: drives nodes with real frames on real sockets, off the GIL."""
