"""The names of short links and their targets: slugs, hosts, target URLs, UTM tags."""
