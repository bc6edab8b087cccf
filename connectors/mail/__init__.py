"""Mail as items, wherever it was found: the parser that the IMAP and mailbox connectors share; reads no source."""
