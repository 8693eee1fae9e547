"""Terminal output shared by all commands: figures with units, tables, progress, exit codes."""
