"""Shipped for those who build on runwire: conformance of adapters, a scripted model server, scripted agents."""
