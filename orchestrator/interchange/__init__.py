"""Files of other tools: topologies and flows become plans, plans become GraphML."""
