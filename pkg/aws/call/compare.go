package call

// Compare compares the names of params with the members of an operation. It returns the required members that are missing, the
// names that are not members, and the names of all members. The case of names does not count, as in [Client.Call].
func (o Operation) Compare(names []string) (missing, unknown, members []string) {
	s := shapeOf(o.Input)
	given := map[string]bool{}
	for _, name := range names {
		switch m := s.find(name); {
		case m != nil:
			given[m.name] = true
		case s.kind == '{':
			unknown = append(unknown, name)
		}
	}
	for _, m := range s.members {
		members = append(members, m.name)
		if m.required && !m.token && !given[m.name] {
			missing = append(missing, m.name)
		}
	}
	return missing, unknown, members
}
