"""Readers of captures of any origin: pcap and pcapng, plain or compressed, in bounded memory.

`open_capture` gives batches of frames as arrays over a buffer, `frames` one frame after another.
Times are whole nanoseconds since 1970. Damage ends the reading and is named with its offset.
"""

from traces.capture.capture_interface import Interface
from traces.capture.capture_stream import CaptureStream, open_capture
from traces.capture.damage import Damage
from traces.capture.frame_batch import NO_TIME, Batch
from traces.capture.frame_iterator import Frame, frames

__all__ = [
    "NO_TIME",
    "Batch",
    "CaptureStream",
    "Damage",
    "Frame",
    "Interface",
    "frames",
    "open_capture",
]
