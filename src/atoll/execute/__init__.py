"""Running a plan: messages, kernels, memory, and the count of what was done."""
