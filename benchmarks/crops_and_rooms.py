"""The study of Crop Yield and Indoor Scene, which is part of the study of all tasks."""

import sys

if __name__ == "__main__":
    sys.exit("benchmarks/crops_and_rooms.py is now called benchmarks/framework.py, with the same tasks.")
