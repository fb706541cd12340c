"""Many models in one space: do they agree, what does a shared space find, is routing worth it."""
