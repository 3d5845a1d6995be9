"""vmap, scan, jit, grad, remat, cond, while."""
