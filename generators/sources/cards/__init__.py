"""Playing cards: decks that are drawn, decks from a folder, and their augmented images."""
