"""The console: pages for people at `/console`, on the same pipeline as every other transport."""
