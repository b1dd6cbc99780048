"""The built-in image sources: digits, playing cards, leaves and rooms, drawn or from folders."""
