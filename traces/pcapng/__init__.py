"""pcapng files, exact to the nanosecond, with one interface block per port.

Layout after draft-ietf-opsawg-pcapng. Our own, because the readers and writers at hand lose
something: dpkt keeps one interface block and floating-point times, scapy takes one Python call per
frame.
"""

from traces.capture.capture_interface import Interface
from traces.pcapng.pcapng_reader import Capture, read
from traces.pcapng.pcapng_writer import write

__all__ = ["Capture", "Interface", "read", "write"]
