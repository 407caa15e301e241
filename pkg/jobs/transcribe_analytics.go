package jobs

func init() {
	addMade(func() Kind {
		return transcribeKind("transcribe-analytics", "CallAnalytics", "Call Analytics", "analytics")
	})
}
