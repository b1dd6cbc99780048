"""Built-in shifts: of pixels, of decks of cards, and the corruptions of ImageNet-C."""
