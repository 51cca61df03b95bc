"""`python -m shoal`: the command line, where the folder of its script is on no path."""

from shoal.cli import main

if __name__ == "__main__":
    main()
