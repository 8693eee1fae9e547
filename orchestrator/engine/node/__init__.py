"""Node logic without I/O: NIC, switch, sink as functions of (frame, port, now) and wake(now)."""
