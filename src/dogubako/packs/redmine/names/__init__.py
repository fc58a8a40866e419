"""Resolve names to Redmine's ids."""
