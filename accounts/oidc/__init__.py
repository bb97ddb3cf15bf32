"""Sign-in through the OpenID Connect provider of this installation, with roles from its groups."""
