"""What is shown of functions, cells and the session, as outlines made of the protocol's records.

It imports no TensorFlow: the kernel's views, the feed's thread and the command's report use it.
"""
