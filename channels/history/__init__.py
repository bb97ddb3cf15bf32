"""The sent messages: lists, timelines, figures, exports."""
