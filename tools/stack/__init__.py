"""The service as separate processes, and its data: what the other tools measure and kill."""
