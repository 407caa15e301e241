package jobs

func init() {
	addMade(func() Kind {
		return textractJob("textract-analysis", "DocumentAnalysis", "DocumentLocation", "FeatureTypes")
	})
}

// textractJob returns the kind of a job of Textract.
func textractJob(name, operation string, required ...string) Kind {
	k := topicJob(name, "textract", operation, required...)
	k.describe.unknown, k.describe.success = []string{"InvalidJobIdException"}, []string{"SUCCEEDED", "PARTIAL_SUCCESS"}
	k.describe.output = []field{{"pages", "DocumentMetadata.Pages"}}
	return k
}
