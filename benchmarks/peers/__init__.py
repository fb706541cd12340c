"""Other libraries, each in an interpreter of its own."""
