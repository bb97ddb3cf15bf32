"""Parts of every process: background threads, the outbox loop, logs, metrics, the web server."""
