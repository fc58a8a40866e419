"""Search engines: what their pages say, and how they are asked."""
