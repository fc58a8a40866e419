"""Measure how well pages are read: a corpus of our own, beside trafilatura and markitdown."""
