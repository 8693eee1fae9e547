"""Capsules: a run or a sweep as one file that others can verify.

    packing.pack(Path("runs/quickstart/…"), Path("quickstart.zip"))
    found = verifying.verify(Path("quickstart.zip"))

A capsule is a ZIP file in the layout of RO-Crate 1.2. What it says of itself is never trusted: its
hashes are reckoned anew, its plan is run again, and what differs is named.
"""
