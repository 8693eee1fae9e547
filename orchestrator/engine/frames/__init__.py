"""Frames on the wire: the compiled codec between a frame descriptor and octets."""

from orchestrator.engine.frames.codec import FOREIGN, decode, encode

__all__ = ["FOREIGN", "decode", "encode"]
