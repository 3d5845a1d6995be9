"""Strategies and remote devices: one notebook on several devices, processes and machines."""
