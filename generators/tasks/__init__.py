"""Built-in tasks: follow_suit, sudoku, crop_yield, indoor_scene, zoo."""
