"""``python -m anabranch`` is the command line."""

from anabranch.cli.main import main

main()
