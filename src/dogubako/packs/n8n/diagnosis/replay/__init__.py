"""Run the code of a node again on the items that n8n recorded, to see which value made it fail."""
