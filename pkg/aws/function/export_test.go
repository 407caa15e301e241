package function

// LogTo is for tests that read what is logged.
var LogTo = logTo

// AuditTo is for tests of the audit.
var AuditTo = auditTo
