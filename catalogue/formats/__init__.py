"""How dates are written where a template or Django's admin names no format of its own."""
