package sim

import (
	"fmt"
	"strings"
)

// machineSeeds are the last of the fixed ones in which the first flow is a machine.
const machineSeeds = 25_000

// drawsMachine reports whether the flow of a seed's run is a machine in the Amazon States Language:
// of one in sixteen others too, without those that were found before.
func drawsMachine(seed uint64) bool {
	const highest, drawn = 60, 7
	return seed > toleratedSeeds && seed <= machineSeeds || seed>>highest == drawn
}

// drawStates returns states that follow each other, with forks of so many levels.
func (w *world) drawStates(f *flowDraft, count, forks int) string {
	first := f.steps
	f.steps += count
	var states []string
	for i := range count {
		next, end := fmt.Sprintf("S%d", first+i+1), `"End": true`
		if i < count-1 {
			end = `"Next": "` + next + `"`
		}
		state := w.drawState(f, forks) + ", " + end
		if i < count-1 && !strings.Contains(state, `"Wait"`) && w.chance(2) {
			state += `, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "` + next + `"}]`
		}
		states = append(states, fmt.Sprintf(`"S%d": {%s}`, first+i, state))
	}
	return fmt.Sprintf(`{"StartAt": "S%d", "States": {%s}}`, first, strings.Join(states, ", "))
}

func (w *world) drawState(f *flowDraft, forks int) (state string) {
	switch k := w.rand.IntN(8); {
	case k == 0:
		return fmt.Sprintf(`"Type": "Wait", "Seconds": %d`, w.drawWait())
	case k < 3:
		state = `"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", ` +
			`"Parameters": {"FunctionName": "` + functionSubmit + `", "Payload": {"token.$": "$$.Task.Token"}}`
		if w.chance(2) {
			state += fmt.Sprintf(`, "TimeoutSeconds": %d`, 2+w.rand.IntN(90))
		}
	case k < 5 && forks > 0:
		state = `"Type": "Parallel", "Branches": [` + w.drawStates(f, 1, forks-1) + ", " + w.drawStates(f, 1+w.rand.IntN(2), forks-1) + "]"
	case k == 5 && forks > 0:
		state = `"Type": "Map", "QueryLanguage": "JSONata", "Items": [1, 2, 3], "MaxConcurrency": 2, "ItemProcessor": ` +
			w.drawStates(f, 1+w.rand.IntN(2), forks-1)
	default:
		state = `"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:` + functionCall + `"`
	}
	if w.chance(2) {
		state += fmt.Sprintf(`, "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": %d, "MaxAttempts": %d}]`, 1+w.rand.IntN(5), w.rand.IntN(3))
	}
	return state
}
