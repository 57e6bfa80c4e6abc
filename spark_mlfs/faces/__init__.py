"""What the faces of pyspark.ml and of scikit-learn share: how a selection is cut, runs on arrays, the text of the classes."""
