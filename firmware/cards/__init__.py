"""Cards as a place where a plan runs: opened, held to the plan, armed, driven in wall time."""
