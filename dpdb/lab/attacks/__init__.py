"""One attack to a file; whatever stands here is listed by `dpdb lab`."""
