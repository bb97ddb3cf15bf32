"""Work that the schedule does for one company after another."""
