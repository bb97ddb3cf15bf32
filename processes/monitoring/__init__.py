"""What a process tells about itself: metrics for Prometheus, traces for OpenTelemetry."""
