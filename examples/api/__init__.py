"""What the command line does, from a program."""
