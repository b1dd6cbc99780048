"""Playing cards: drawn decks, decks from a folder, and their augmented images."""
