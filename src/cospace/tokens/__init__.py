"""Geometry of token embeddings: what two models share of it, globally and near every token."""
