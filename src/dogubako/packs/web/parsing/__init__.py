"""Parsing of strangers' pages in worker processes."""
