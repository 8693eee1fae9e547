"""Local testbed: network namespaces as machines, veth pairs as cables, real agents."""
