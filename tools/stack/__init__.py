"""The service as processes of their own, and its data: what the other tools measure and kill."""
