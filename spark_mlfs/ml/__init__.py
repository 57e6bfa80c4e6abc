"""Estimators and models of pyspark.ml."""
