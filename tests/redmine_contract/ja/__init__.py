"""The second world: Japanese, last name first, numbers as logins, narrow roles, modules that are off."""
