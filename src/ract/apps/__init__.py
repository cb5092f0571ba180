"""Command line, web service, ledger, distributed jobs: they use the library."""
