"""The cost of statements, pages and jobs as the database grows: `make growth`.

Each is measured on the same database at several sizes. Statements are those that the code really
executes, each explained just before it runs.
"""
