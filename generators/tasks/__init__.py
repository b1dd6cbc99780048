"""The first-party tasks: follow_suit, sudoku, crop_yield, indoor_scene."""
