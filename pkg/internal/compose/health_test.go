package compose

import "testing"

// The alarms of a stack whose name begins with that of another one are not alarms of the other one.
func TestAlarmsOfAStack(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"orders-StoppedAlarm-1N5KQ2Z": true, "orders-test-StoppedAlarm-1N5KQ2Z": false, "ordersX-StoppedAlarm-1N5KQ2Z": false, "orders-mine": false,
	} {
		if got := isAlarmOf("orders", name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
