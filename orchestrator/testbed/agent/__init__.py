"""Agent: serves one machine to a controller and hosts nodes of plans on leased NICs.

It imports neither numpy nor the compiled core: those live in the worker of each lease.
"""
