"""How alike encoders are up to an affine map, and whether that says what probes will do."""
