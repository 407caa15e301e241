package fdl

import "slices"

// Elements are what a definition is made of, by the names that [Fields] takes:
// the flow, a mapping, the types of steps, and what stands in choices and tasks.
func Elements() []string {
	return slices.Concat([]string{"flow", "mapping"}, stepTypes, []string{"branch", "default", "parallelBranch", "iterationMapping", "policy", "entry"})
}

// Fields are the fields that an element of a definition may have, those of a type
// of step with those that all steps have.
func Fields(element string) []string {
	switch element {
	case "flow":
		return slices.Clone(flowFields)
	case "mapping":
		return slices.Clone(mappingFields)
	case "branch":
		return slices.Clone(branchFields)
	case "default":
		return slices.Clone(defaultFields)
	case "parallelBranch":
		return slices.Clone(parallelBranchFields)
	case "iterationMapping":
		return slices.Clone(iterationFields)
	case "policy":
		return slices.Clone(policyFields)
	case "entry":
		return slices.Clone(catchFields)
	}
	return fieldsOfStep(element)
}

func fieldsOfStep(stepType string) []string {
	common := stepFields
	if stepType == "succeed" || stepType == "fail" {
		common = endingFields
	}
	return slices.Concat(common, kindFields[stepType])
}
