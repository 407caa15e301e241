package jobs

func init() {
	addMade(func() Kind { return textractJob("textract-text", "DocumentTextDetection", "DocumentLocation") })
}
