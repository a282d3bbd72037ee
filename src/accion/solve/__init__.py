"""Problems that are solved: from a start, or between two ends."""
