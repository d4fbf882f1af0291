"""What several dialects share. Pure: no I/O, no clock, no environment."""
