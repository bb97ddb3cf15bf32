"""Teaches the router what became of codes, and counts what smart routing saved.

The router is `channels.routing.smart`; its knowledge is kept by `channels.routing.learned`.
"""
