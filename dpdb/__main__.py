"""`python -m dpdb`."""

from dpdb.interfaces.cli.main import main

raise SystemExit(main())
