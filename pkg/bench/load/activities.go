package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// serveActivities serves the functions of the polling sample, for jobs that go on running, until the listener is closed.
// Like the client it does without net/http.
func serveActivities(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serveConnection(conn)
	}
}

func serveConnection(conn net.Conn) {
	defer func() { _ = conn.Close() }() // dev is gone
	in := bufio.NewReader(conn)
	for {
		request, body, err := readMessage(in)
		if err != nil {
			return
		}
		status, response := callActivity(request, body)
		_, err = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nDate: %s\r\nContent-Length: %d\r\n\r\n%s",
			status, http.StatusText(status), time.Now().UTC().Format(http.TimeFormat), len(response), response)
		if err != nil {
			return
		}
	}
}

// callActivity returns the response to a request for a function.
func callActivity(request string, body []byte) (status int, response string) {
	var input struct {
		Tries int `json:"try_count"`
	}
	err := json.Unmarshal(body, &input)
	switch {
	case err != nil:
		return http.StatusBadRequest, ""
	case strings.HasPrefix(request, "POST /StartJob "):
		return http.StatusOK, `{"job_id":"job"}`
	case strings.HasPrefix(request, "POST /GetJobStatus "):
		return http.StatusOK, fmt.Sprintf(`{"job_status":"running","try_count":%d}`, input.Tries+1)
	}
	return http.StatusNotFound, ""
}
