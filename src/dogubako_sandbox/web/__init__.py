"""A small web: DuckDuckGo's endpoints and some sites."""
