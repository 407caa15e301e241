package dynamo

// JobKey is the key of a job's item.
var JobKey = jobKey
