package cli

// Option adds to the command line.
type Option func()
