"""Cards that run a plan: opened, checked against the plan, armed, driven in wall time."""
