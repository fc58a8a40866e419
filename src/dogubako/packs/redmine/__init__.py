"""The Redmine pack: projects, issues, time entries, users, wiki and news."""
