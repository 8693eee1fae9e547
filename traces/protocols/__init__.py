"""dpkt classes for the frames of congestion control, which dpkt does not have.

Importing this package registers them with dpkt: from then on `dpkt.ethernet.Ethernet(octets).data`
is a `MacControl`, `Cnm`, `CnTag`, `Lldp` or `Probe` where it was bytes before. RoCE is over UDP,
which has no register: `roce(ethernet)` looks for it, as `stamps(octets)` does for stamps of hops.
"""

import dpkt  # type: ignore[import-untyped]

from traces.protocols.cnm import Cnm, CnTag
from traces.protocols.fecn_probe import Probe
from traces.protocols.hop_stamps import Stamp, Stamps, stamps
from traces.protocols.lldp import Lldp, OrganisationTlv, Tlv
from traces.protocols.mac_control import MacControl, Pause, Pfc
from traces.protocols.roce import BaseTransport, Cnp, roce

REGISTERED = {0x8808: MacControl, 0x22E7: Cnm, 0x22E9: CnTag, 0x88CC: Lldp, 0x88B6: Probe}
"""EtherType to class."""

for _type, _class in REGISTERED.items():
    dpkt.ethernet.Ethernet.set_type(_type, _class)

__all__ = [
    "REGISTERED",
    "BaseTransport",
    "CnTag",
    "Cnm",
    "Cnp",
    "Lldp",
    "MacControl",
    "OrganisationTlv",
    "Pause",
    "Pfc",
    "Probe",
    "Stamp",
    "Stamps",
    "Tlv",
    "roce",
    "stamps",
]
