"""All that is compiled, and nothing else: node logic, frames, random numbers, the data path.

The cache of compiled code is kept by the state of this room alone (orchestrator.engine.jit).
"""
