"""Where results come from: one module per search engine."""
