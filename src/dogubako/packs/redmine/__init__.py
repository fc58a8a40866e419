"""Redmine: projects, issues, time, people and knowledge."""
