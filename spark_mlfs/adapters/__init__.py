"""Shared by the faces of pyspark.ml and scikit-learn: how a selection is cut, runs on arrays, the
text of the classes."""
