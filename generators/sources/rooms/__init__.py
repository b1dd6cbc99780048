"""Indoor scenes: their names, drawn rooms, and MIT Indoor 67's images from a folder."""
