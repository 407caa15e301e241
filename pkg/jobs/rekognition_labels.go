package jobs

func init() {
	addMade(func() Kind { return topicJob("rekognition-labels", "rekognition", "LabelDetection", "Video") })
}
