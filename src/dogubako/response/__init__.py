"""Build answers: fit them into the token budget, mask secrets and validate the result."""
