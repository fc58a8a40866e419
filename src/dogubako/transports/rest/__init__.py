"""REST version 1, its OpenAPI description and the page at `/docs`."""
