package jobs

func init() {
	addMade(func() Kind { return topicJob("rekognition-faces", "rekognition", "FaceDetection", "Video") })
}
