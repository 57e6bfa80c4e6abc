"""Statistics: summed over blocks in one scan: exact, in any order."""
