"""The parts that only `make run`, `make test` and development need."""
