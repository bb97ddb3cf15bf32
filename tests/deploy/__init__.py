"""The files under deploy/ and the example of an environment, as others read them."""
