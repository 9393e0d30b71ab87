"""Can these numbers be trusted? Verdicts on series of results, whoever measured them."""
