"""What was sent: lists, timelines, figures, exports."""
