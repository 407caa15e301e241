package startjob

// Attrs is what the log line says of a response.
var Attrs = attrs
