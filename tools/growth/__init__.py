"""The cost of statements, pages and jobs as the database grows: `make growth`.

All are measured on the same database at several sizes. Statements are explained right before the
code executes them.
"""
