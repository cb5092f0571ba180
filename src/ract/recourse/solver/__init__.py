"""Exact search by a constraint solver, for costs and constraints that go across features."""
