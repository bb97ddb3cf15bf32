"""What only `make run`, `make test` and development need."""
