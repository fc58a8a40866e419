"""How Redmine's records read to an agent."""
