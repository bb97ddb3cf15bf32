"""Drop-in endpoints: the URLs, bodies and errors of other services' verification calls.

A *dialect* is a folder that translates and nothing else: it has no SQL and no rules of its own. A
customer points the other service's client at `PUBLIC_URL/compat/<dialect>`, with a key that has a
purpose (`ApiKey.purpose`). To add a dialect, make `compat/<name>/` with

- `dialect.py`: `DIALECT`, a `compat.dialect.Dialect`: how keys are presented, a table from our
  errors to the dialect's own statuses and codes (`complete`), and `refuse`, which writes them;
- `views.py`: subclasses of `CompatView` with `dialect = DIALECT`. They read the body with
  `self.form(request)` or `json_object(request)`, its fields with `compat.fields`, the number with
  `self.number`, call `self.send`, `self.check` or another use case of `otp`, and return
  `self.respond(body)`. To refuse, they raise a DomainError. Last come `urlpatterns`, made of
  `path(…, view.as_view())`: the company's request log shows the converters' names in place of ids.

No list registers it: `compat.dialect` finds the folder. `tests/compat/test_dialects.py` then tries
every error, unknown paths, wrong methods, keys, sizes and types on it; `tests/compat/<name>/` tests
the rest. `Dialect.title` is its title in lists; messages sent through it have `params["door"]`. An
article `compat-<name>.md` tells customers what to change.
"""
