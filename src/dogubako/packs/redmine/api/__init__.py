"""Redmine over HTTP, as far as our tools need it."""
