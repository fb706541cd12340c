"""Which model should answer a prompt: real correctness, routers, and how they are judged."""
