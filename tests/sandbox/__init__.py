"""The built-in services say what the real ones say."""
