"""The built-in perception networks and their torch modules."""
