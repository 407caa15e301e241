package main

import "testing"

// TestCompose: the function starts with the variables of the template, so each port of its worker is
// there.
func TestCompose(t *testing.T) {
	t.Parallel()
	numbers := map[string]string{
		"WAITLESS_TIME_LIMIT": "30", "WAITLESS_EXECUTION_DAYS": "90", "WAITLESS_LONGEST_DELAY": "900", "WAITLESS_DATA_LIMIT": "32768",
		"WAITLESS_FUNCTIONS": "echo=stack-echo",
	}
	if _, err := compose(func(name string) string {
		if number, ok := numbers[name]; ok {
			return number
		}
		return "text-of-" + name
	}); err != nil {
		t.Error(err)
	}
}
