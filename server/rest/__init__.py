"""REST under /api/v1: the memory for programs, with an OpenAPI document."""
