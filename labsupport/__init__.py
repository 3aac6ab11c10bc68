"""Authorized Retrieval, a hands-on lab: the package that every notebook imports. Modules are the map, this is the door."""
