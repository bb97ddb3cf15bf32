"""HTTP: the API's views, and the pages about codes in the cabinet and the admin."""
