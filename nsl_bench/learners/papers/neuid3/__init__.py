"""NeuID3: decision trees whose tests are neural networks and rules over them, learned from labels alone.

Moeller, Norlander, Zuidberg Dos Martires, De Raedt: "Neurosymbolic Decision Trees" (2025, arXiv 2503.08762).
"""
