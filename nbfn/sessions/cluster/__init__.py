"""The same notebook on several devices, processes and machines: strategies and remote devices."""
