"""Calibration of this machine with the real data path: `tailback calibrate`.

Sender and observer are separate: a data path sends into an interface, and the kernel timestamps
the frames that arrive at the otherwise idle other end (`observer`). The rest is arithmetic on these
times.
"""
