"""The faults: kills and restarts of programs, and a proxy that breaks connections."""
