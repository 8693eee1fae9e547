"""pcapng files, exact to the nanosecond, with one interface block per port.

Layout after draft-ietf-opsawg-pcapng. Our own, because the readers and writers at hand lose
something: dpkt keeps one interface block and floating-point times, scapy takes one Python call per
frame.
"""

from traces.capture.interface import Interface
from traces.pcapng.capture import Capture
from traces.pcapng.reader import read
from traces.pcapng.writer import write

__all__ = ["Capture", "Interface", "read", "write"]
