"""HTTP: the API's views, and the pages about money in the cabinet and the admin."""
