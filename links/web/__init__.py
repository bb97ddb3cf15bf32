"""HTTP: the API's views, and the pages about links in the cabinet and the admin."""
