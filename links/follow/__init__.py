"""Following a link: the redirect, its caches, and the pages that a visitor may see instead."""
