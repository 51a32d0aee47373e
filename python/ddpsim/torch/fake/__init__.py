"""One training step of an unmodified script as one rank of a job of any size, on one CPU: fake tensors, a fake process group, a GPU that is not
there. Nothing of PyTorch is patched on disk; what is patched in memory is undone after the block (see guard.py for what stays)."""
