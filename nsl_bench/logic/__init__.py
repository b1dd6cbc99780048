"""Rules: answer set programs, the exact rule learner, inference with probabilities, and limits on all three.

Imports of `core` only errors, budget, types and how files are opened, interrupts held back and loops
compiled; README.md has the way through it. Begin with `las.solver` (a task's best hypothesis) and
`inference.engines` (a label's probability).
"""
