package flow

// MaxName is the maximum length of a name, the vendor's limit.
const MaxName = 128

// ValidName reports whether name is valid for a flow, an execution or a step: a letter or "_", then
// up to 127 letters, digits, "_" and "-".
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}
