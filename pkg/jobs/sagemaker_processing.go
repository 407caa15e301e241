package jobs

func init() {
	addMade(func() Kind {
		return sagemakerJob("sm-processing", "Processing", sagemakerForm,
			field{"exit_message", "ExitMessage"}, field{"", "ExitMessage"})
	})
}
