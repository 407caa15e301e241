package function

// LogTo is for tests that read what is logged.
var LogTo = logTo
