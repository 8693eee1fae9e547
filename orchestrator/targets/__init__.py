"""Where the nodes of a plan live: one module per target."""
