"""What every command prints and how it ends: figures with units, tables, progress, exit codes."""
