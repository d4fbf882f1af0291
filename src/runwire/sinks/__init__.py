"""One file per destination of events. The module name is the registry key."""
