"""Exporter of one local run: its session while it goes on, its recording and result afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.live.live_session import Session
from orchestrator.metrics_export.run_readings import Json, Reading, RunReader, session_snapshot
from orchestrator.recording import Recording


class RunExporter:
    """See the module. `observe` and `finish` are called by the run's thread, `readings` by the
    endpoint's."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._final: tuple[Recording, Json] | None = None
        self._reader = RunReader()

    def observe(self, session: Session) -> None:
        """Export this session from now on."""
        self._session = session

    def finish(self, recording: Recording, result: Json) -> None:
        """Export the last samples of the recording, and the result."""
        self._final = recording, result

    def readings(self) -> Iterator[Reading]:
        """Current readings; none before the run has a session."""
        if self._session is not None:
            recording, result = self._final or (None, None)
            yield from self._reader.readings(session_snapshot(self._session, recording, result))
