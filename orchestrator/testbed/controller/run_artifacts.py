"""Files of a complete run folder for download: a list, and chunks by number.

No message names a file: what can be had is what stood in the folder when the run was over, by its
number on the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.testbed.controller.controller_messages import RunFiles
from orchestrator.testbed.wire.chunked_transfer import Chunk, Stored, cut, measured
from orchestrator.testbed.wire.envelope import Unacceptable


@dataclass(frozen=True)
class RunArtifacts:
    """The files of the folder `runs/<plan>/<name>`."""

    folder: Path
    listing: RunFiles

    @classmethod
    def of(cls, folder: Path) -> RunArtifacts:
        """List a folder. Reads every file: call it in a thread."""
        files = [
            Stored(name=path.relative_to(folder).as_posix(), **measured(path))
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()
        ]
        return cls(folder, RunFiles(plan=folder.parent.name, name=folder.name, files=files))

    def cut(self, number: int, offset: int) -> tuple[Chunk, bytes]:
        """A chunk of a file. Raises Unacceptable when there is none."""
        if number >= len(self.listing.files):
            raise Unacceptable("no-file", f"the folder has {len(self.listing.files)} files")
        name = self.listing.files[number].name
        try:
            return cut(self.folder / name, offset)
        except OSError as error:
            raise Unacceptable(
                "no-file", f"{name} of {self.folder.name} cannot be read: {error.strerror}"
            ) from None
