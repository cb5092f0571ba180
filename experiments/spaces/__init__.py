"""Action spaces written from the meaning of the columns, and the tables that they belong to."""
