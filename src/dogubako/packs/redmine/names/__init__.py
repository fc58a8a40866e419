"""Names that people use, where Redmine wants ids."""
