"""Drop-in endpoints: the addresses, bodies and refusals of other services' verification calls.

A *dialect* is a folder that translates and nothing else: no statement, no rule of
its own. A customer points the other service's client at `PUBLIC_URL/compat/<dialect>`, with a
key of the kind that has a purpose (`ApiKey.purpose`). To add one, make `compat/<name>/` with

- `dialect.py`: `DIALECT`, a `compat.dialect.Dialect`: how keys are presented, a table from our
  errors to the dialect's own statuses and numbers (`complete`), and `refuse`, which writes them;
- `views.py`: views under `CompatView`, with `dialect = DIALECT`. They read the
  body by `self.form(request)` or `json_object(request)`, its fields by `compat.fields`,
  the number by `self.number`, call `self.send`, `self.check` or another use case of `otp`, and
  return `self.answer(body)`. What they refuse they raise as a DomainError. Last `urlpatterns`, made
  of `path(…, view.as_view())`: the converters' names are what the company's log of requests shows
  in place of ids.

No list names it: `compat.dialect` finds the folder. `tests/compat/test_dialects.py` then tries
every refusal, unknown paths, wrong methods, keys, sizes and types on it; `tests/compat/<name>/` has
what is the dialect's own. Its title in lists is `Dialect.title`; the messages that came by it carry
`params["door"]`. An article `compat-<name>.md` tells customers what to change.
"""
