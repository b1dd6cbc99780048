"""Built-in shifts, one module each; the ImageNet-C corruptions share two modules."""
