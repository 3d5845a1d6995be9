"""Transformations of modules: vmap, scan, jit, grad, remat, cond, while_loop and others."""
