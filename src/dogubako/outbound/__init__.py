"""What all service clients share."""
