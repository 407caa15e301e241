package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// client makes one request after the other on a connection that it keeps. It does without net/http, whose
// client takes as much of the processor as the server does.
type client struct {
	dev   *dev
	other *client
	conn  net.Conn
	in    *bufio.Reader
}

// do makes a request, checks the status, and reads the response into to unless that is nil.
func (c *client) do(method, path, body string, want int, to any) error {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.dev.address)
		if err != nil {
			return err
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	c.dev.requests.Add(1)
	request := method + " " + path + " HTTP/1.1\r\nHost: " + c.dev.address + "\r\nAuthorization: Bearer " + c.dev.key +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	if _, err := io.WriteString(c.conn, request); err != nil {
		return err
	}
	status, response, err := c.read()
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case status != want:
		return fmt.Errorf("%s %s: the status is %d; want %d: %s", method, path, status, want, response)
	case to == nil:
		return nil
	}
	return json.Unmarshal(response, to)
}

// read reads a response, which has a Content-Length.
func (c *client) read() (status int, body []byte, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return 0, nil, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\r\n"), ": ")
		switch {
		case first:
			status, err = strconv.Atoi(line[len("HTTP/1.1 "):][:3])
		case name == "Content-Length":
			length, err = strconv.Atoi(value)
		case name == "":
			body = make([]byte, length)
			_, err = io.ReadFull(c.in, body)
			return status, body, err
		}
		if err != nil {
			return 0, nil, err
		}
	}
}
