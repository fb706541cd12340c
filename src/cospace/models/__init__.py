"""Language models: references to weights, and activations at named sites."""
