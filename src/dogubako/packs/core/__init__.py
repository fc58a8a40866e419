"""The core pack, which every server has."""
