"""How results and pages read to an agent."""
