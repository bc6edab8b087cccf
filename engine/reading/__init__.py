"""Reading: planning questions, searching passages, and answering from the graph with sources."""
