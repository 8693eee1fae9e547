"""The compiled engine: node logic, frames, random numbers and the data path.

The cache of compiled code is kept by the state of this room alone (orchestrator.engine.jit).
"""
