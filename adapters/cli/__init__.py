"""The command line: the same nouns and argument names as in Python."""
