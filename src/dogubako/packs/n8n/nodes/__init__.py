"""What is known about node types, and checks of workflows against it."""
