package value

import "fmt"

// Shown returns a value for a message: its kind, and how it begins.
func Shown(v Value) string {
	if v.IsMissing() {
		return "missing"
	}
	if v.Kind() == KindNull {
		return v.Kind().String()
	}
	const most = 80
	text := []rune(v.JSON())
	if len(text) > most {
		text = append(text[:most], []rune("...")...)
	}
	return fmt.Sprintf("%s, %s", v.Kind(), string(text))
}
