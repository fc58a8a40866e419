"""The web: search that says when it was blocked, and pages read safely."""
