"""Capsules: a run or a sweep as one file that says of itself whether it holds, elsewhere too.

    pack(Path("runs/quickstart/…"), Path("quickstart.zip"))
    found = verify(Path("quickstart.zip"))

A capsule is a ZIP file in the layout of RO-Crate 1.2. What it says of itself is never trusted: its
hashes are reckoned anew, its plan is run again, and what differs is named.
"""

from traces.capsule.packing import pack
from traces.capsule.verifying import verify

__all__ = ["pack", "verify"]
