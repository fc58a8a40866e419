"""Parse untrusted pages in worker processes."""
