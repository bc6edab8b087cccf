"""The tiers that ask a language model, local or cloud: one call an episode, through the one door for text."""
