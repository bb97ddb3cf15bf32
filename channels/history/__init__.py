"""Sent messages: lists, timelines, figures, exports."""
