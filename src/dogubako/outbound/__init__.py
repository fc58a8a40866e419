"""HTTP client, cache and settings that all service clients share."""
