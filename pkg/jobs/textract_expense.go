package jobs

func init() {
	addMade(func() Kind { return textractJob("textract-expense", "ExpenseAnalysis", "DocumentLocation") })
}
