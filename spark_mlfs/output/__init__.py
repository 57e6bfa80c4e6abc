"""What a run writes, whole or not at all: folders, tables, manifests, journals."""
