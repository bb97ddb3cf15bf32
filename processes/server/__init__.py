"""The layer between granian and Django: WSGI gateway, request bodies, HTTPS, middleware, health."""
