"""One suite for two Redmines: the one in small, and a real one."""
