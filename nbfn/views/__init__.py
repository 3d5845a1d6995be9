"""Views: live widgets, with HTML and text that say the same."""
