"""How fast and how right: our measures beside bare linear algebra and beside other libraries."""
