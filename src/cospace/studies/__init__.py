"""A paper's whole protocol, on any models."""
