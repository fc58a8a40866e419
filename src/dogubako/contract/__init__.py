"""The words that everyone uses. Imports nothing of ours."""
