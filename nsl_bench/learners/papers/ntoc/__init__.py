"""NTOC: a perceiver and a logic circuit, trained together on sequences.

Liu, Xu, Van den Broeck, Liang: "Out-of-Distribution Generalization by Neural-Symbolic Joint Training",
AAAI 2023.
"""
