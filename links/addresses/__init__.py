"""What a short link is called and where it may lead: slugs, hosts, target URLs, UTM tags."""
