"""The telemetry of a process: metrics for Prometheus, traces for OpenTelemetry."""
