"""Read strangers' documents and pictures. Only worker processes parse them."""
