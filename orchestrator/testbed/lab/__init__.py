"""A testbed on this machine: network namespaces as machines, veth pairs as cables, real agents."""
