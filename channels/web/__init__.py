"""HTTP: the API's views, and the pages about messages in the cabinet and the admin."""
