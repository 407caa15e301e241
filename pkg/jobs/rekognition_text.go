package jobs

func init() {
	addMade(func() Kind { return topicJob("rekognition-text", "rekognition", "TextDetection", "Video") })
}
