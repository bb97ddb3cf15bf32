"""HTTP: the API's views, the cabinet's and the admin's pages about links."""
