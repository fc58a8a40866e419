"""The web pack: search the web and read pages safely."""
