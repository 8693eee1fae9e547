"""Several machines: agents that host nodes, a controller that runs plans over them, their wire."""
