"""Values: their fingerprints, what they hold and lead to, and the settings of Keras's objects."""
