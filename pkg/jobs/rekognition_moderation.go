package jobs

func init() {
	addMade(func() Kind { return topicJob("rekognition-moderation", "rekognition", "ContentModeration", "Video") })
}
