"""The SearXNG provider against a real search server. `make test-searx` runs these."""
