"""Every door of the server, tried from outside."""
