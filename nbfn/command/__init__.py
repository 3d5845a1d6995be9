"""The command line: ``nbfn run`` for CI, ``nbfn lab``.

The command's own process imports no TensorFlow. What it says comes from the kernel, as the records
of the protocol.
"""
