"""Between granian and Django: the WSGI gateway, request bodies, HTTPS, middleware, health."""
