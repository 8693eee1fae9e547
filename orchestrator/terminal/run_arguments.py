"""Run arguments on the command line: `-1` is the newest run, and not an option."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperOption

from orchestrator.terminal.run_lookup import BASE

RUN_HELP = "A run folder, latest, -1 (the same), -2 (the one before) or PLAN/latest."


class RunArgumentCommand(TyperCommand):
    """A command with runs among its arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with every `-1` that is not the value of an option spelt as a path."""
        valued = {
            word
            for option in self.params
            if isinstance(option, TyperOption) and not option.is_flag
            for word in option.opts
        }
        before = ["", *args]
        args = [
            str(BASE / word)
            if re.fullmatch(r"-\d+", word) and before[place] not in valued
            else word
            for place, word in enumerate(args)
        ]
        return super().parse_args(ctx, args)
