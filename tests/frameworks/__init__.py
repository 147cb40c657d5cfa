"""Tests of the adapters against the frameworks themselves, each in an environment of its own."""
