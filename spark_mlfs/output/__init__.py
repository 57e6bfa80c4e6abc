"""The output of a run, written whole or not at all: folders, tables, manifests, journals."""
