"""Charts of issues: Gantt, burndown and workload, as data, as text and as pictures."""
