"""Tasks: calls that go on after they were answered. Records of ours say what is true, Docket delivers the work."""
