package stack_test

import (
	"os"
	"path/filepath"
	"testing"
)

// largest are the limits of the functions' binaries, in units of 100 kB: a cold start loads a binary.
// A limit is what a function has on x86_64, and a twentieth more.
var largest = map[string]int64{
	"ApiFunction": 163, "CallbackFunction": 137, "CallServiceFunction": 95, "EchoFunction": 73, "FnfFunction": 157,
	"GetJobStatusFunction": 102, "InterpreterFunction": 157, "JanitorFunction": 141, "JobEventsFunction": 127,
	"SfnFunction": 159, "StartJobFunction": 124, "TaskRunnerFunction": 143,
}

// A package that calls methods by their names, as text/template does, keeps all methods of the SDK.
func TestSizesOfFunctions(t *testing.T) {
	t.Parallel()
	standard.get(t)
	binaries, err := filepath.Glob(filepath.Join(folder, "build", "*", "bootstrap"))
	if err != nil || len(binaries) != len(largest) {
		t.Fatalf("there are %d binaries, want %d: %v", len(binaries), len(largest), err)
	}
	for _, binary := range binaries {
		name := filepath.Base(filepath.Dir(binary))
		info, err := os.Stat(binary)
		if err != nil {
			t.Fatal(err)
		}
		if size, limit := info.Size(), largest[name]*100_000; size > limit {
			t.Errorf("%s has %d bytes, and the limit is %d", name, size, limit)
		}
	}
}
