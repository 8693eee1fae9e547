"""Position and cause of damage that ends the reading of a capture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Damage:
    """`offset` counts octets from the beginning of the file, after decompression."""

    offset: int
    what: str

    def __str__(self) -> str:
        return f"offset {self.offset}: {self.what}"


class Damaged(Exception):
    """Carries a Damage to where reading ends."""

    def __init__(self, offset: int, what: str) -> None:
        self.damage = Damage(offset, what)
        super().__init__(str(self.damage))
