"""One file per program: how to start it, what it can do. The module name is the registry key."""
