"""Oracle: the reference algorithms, driven by captured frames, judge a device.

`replay` says for every node of a plan whether its captured frames are those that the reference
would have sent, and names the first one that is not, with the rule. `counterfactual` asks the same
capture what another congestion point would have said.
"""

from __future__ import annotations
