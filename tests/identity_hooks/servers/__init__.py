"""Identity servers as their makers publish them on npm, which call our hooks."""
