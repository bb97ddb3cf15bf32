"""Base classes of every `ModelAdmin`, and the admin of users, members and keys.

The site itself and the pages of its own are in `operator_admin`.
"""
