"""Facts about the sandbox's Redmine that were seen on a real one."""
