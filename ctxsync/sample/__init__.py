"""Sample data: a vault, later edits of it, and a repository, all about the same made-up company."""
