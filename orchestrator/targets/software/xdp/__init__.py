"""The data path's second backend: AF_XDP sockets, set up here, driven by engine.datapath.xdp."""
