"""Crops: their names, drawn leaves, and PlantVillage's images from a folder."""
