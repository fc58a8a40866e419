"""Fetch pages safely, and convert them to Markdown."""
