// Package machinetest judges engines by a second interpreter of flows, which is naive: it runs a
// flow recursively, on whole values, and knows nothing of logs, wakes or lanes. The flows are
// random ones and those in the folder flows, which have every construct inside every other one.
//
// Another naive interpreter runs random machines in the Amazon States Language. It shares no code
// with package asl: it reads the JSON, the paths, the templates and the rules itself.
package machinetest
