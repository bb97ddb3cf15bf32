"""What every process needs: background threads, the outbox loop, logs, metrics, the web server."""
