"""One file per wire format. Pure: bytes to events, events to bytes. The module name is the registry key."""
