"""Calibration of this machine with the real data path: `tailback calibrate`.

Who sends and who looks are apart: a data path sends into an interface, and the kernel stamps what
arrives at the other end, where nobody else is (`observer`). The rest is arithmetic on these times.
"""
