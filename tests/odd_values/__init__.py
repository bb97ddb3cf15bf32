"""Odd values in every field, query parameter and path that exists: no answer is a 5xx, and no
background work that a request asks for fails.
"""
