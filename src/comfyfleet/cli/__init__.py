"""The command line. Each command is a thin edge over the same verbs that HTTP uses."""
