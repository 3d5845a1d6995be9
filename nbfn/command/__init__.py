"""The command line: ``nbfn run`` for CI, and ``nbfn lab``.

The command's own process does not import TensorFlow. Its data come from the kernel, as records of
the protocol.
"""
