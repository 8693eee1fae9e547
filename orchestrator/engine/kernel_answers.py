"""Kernel answers: the named results that a kernel returns to the node logic.

The numbers are part of the contract with gateware and never change. A kernel returns one of the
answers that the table of kinds (`orchestrator.algorithm`) lists for its event.
"""

from __future__ import annotations

FORWARD = 0
"""Congestion point: the frame goes on as usual, and no source is notified."""
NOTIFY_ARRIVING = 1
"""Congestion point: send `message` to the source of the frame at hand."""
NOTIFY_HEAD = 2
"""Congestion point: send `message` to the source of the frame at the head of the queue."""
NOTIFY_RANDOM_UNIT = 3
"""Congestion point: send `message` to the source of the frame in a buffer unit that is drawn at
random; `message.mark` bounds the draws before a scan (0: no bound). Needs `keeps_units`."""
NOTIFY_LARGEST = 4
"""Congestion point: send `message` to the source that occupies most of the buffer. Needs
`keeps_units`."""
DROP = 5
"""Congestion point, `arrival` or `departure`: drop the frame. Declared by `drops`."""
TRIM = 6
"""Congestion point, `arrival` at an output: cut the data frame to its header, which passes every
queue. Declared by `trims`."""
STAMP = 7
"""Congestion point, `departure`: add a telemetry stamp to the data frame (see `StampMessage`)."""
STAMP_IF_LARGER = 8
"""Congestion point, `departure`: replace the frame's only stamp if the signal in `message.offset`
is larger (draft-ravi-ippm-csig). Declared by `keeps_one_stamp`."""
STAMP_IF_SMALLER = 9
"""Congestion point, `departure`: replace the frame's only stamp if the signal in `message.offset`
is smaller (draft-ravi-ippm-csig). Declared by `keeps_one_stamp`."""
LANE = 16
"""Congestion point, `arrival` at an output: LANE + priority sends the frame on in the lane of that
priority (0 to 7). Declared by `changes_lane`."""

NOTHING = 0
"""Every other kernel: no frame is sent."""
SEND = 1
"""Send the frame that `message` describes: the message of a notification point or receiver, the
PROBE of a reaction point, the PAUSE, PFC or GRANT of a pause, the segment or ACK of a transport."""
REFLECT = 1
"""Notification point, `probe`: turn the PROBE round, so that it returns to its source as ECHO."""
REQUEST_CREDIT = 2
"""Transport, `send`: send a REQUEST for `message.sequence` octets of credit in all."""
LOST = -1
"""Delay line: the link loses the frame, which is counted."""
FCS_WRONG, FCS_RIGHT = 1, 2
"""Delay line, `message.mark`: the frame's octets are corrupted, and its FCS shows it, so that the
FCS check at the other end drops the frame; or the FCS is right, and the node there gets it."""
