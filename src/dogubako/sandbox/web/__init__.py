"""A small web: DuckDuckGo's endpoints, and the sites that it finds."""
