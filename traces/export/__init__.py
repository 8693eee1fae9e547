"""Files for other tools: completion times of messages and captures of a run."""
