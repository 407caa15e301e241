package fnf

import (
	"errors"
	"net/http"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// refusal is an error as the vendor's clients read it.
type refusal struct {
	status    int
	Code      string
	Message   string
	RequestID string `json:"RequestId"`
	HostID    string `json:"HostId"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

func invalid(code, message string) error {
	return &refusal{status: http.StatusBadRequest, Code: code, Message: message}
}

func denied(code, message string) error {
	return &refusal{status: http.StatusForbidden, Code: code, Message: message}
}

// refusal is what a caller is told of an error: what they can mend, without a
// word of what they sent, and nothing of what happened inside.
func (h handler) refusal(err error) *refusal {
	var refused *refusal
	var report *resume.ReportError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, token.ErrInvalid):
		return &refusal{status: http.StatusNotFound, Code: "TaskNotExists", Message: err.Error()}
	case errors.As(err, &report) && report.TooLarge:
		return &refusal{status: http.StatusBadRequest, Code: "EntityTooLarge", Message: report.What}
	case errors.As(err, &report):
		return &refusal{status: http.StatusBadRequest, Code: "InvalidArgument", Message: report.What}
	}
	h.Log.Error("report failed", "error", token.MaskAll(err.Error()))
	message := "something inside failed; try again"
	if errors.Is(err, resume.ErrTooSlow) {
		message = resume.ErrTooSlow.Error()
	}
	return &refusal{status: http.StatusInternalServerError, Code: "InternalServerError", Message: message}
}
