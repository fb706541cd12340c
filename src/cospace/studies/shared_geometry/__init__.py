"""What the token embeddings of models share, and whether steering vectors move between them."""
