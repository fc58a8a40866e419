"""Pages: fetched safely, read as Markdown."""
