"""Redmine in small, inside our process."""
