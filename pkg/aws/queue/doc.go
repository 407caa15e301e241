// Package queue is what the adapters over SQS share: messages sent with a
// delay, and received messages handled side by side, each of them put back for
// as long as its handling says.
//
// It knows nothing of what is in a message. This package may change between
// releases.
package queue
