package main

import (
	"bufio"
	"bytes"
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

// read reads a response.
func (c *client) read() (status int, body []byte, err error) {
	first, body, err := readMessage(c.in)
	if err != nil {
		return 0, nil, err
	}
	_, text, _ := strings.Cut(first, " ")
	status, err = strconv.Atoi(text[:min(3, len(text))])
	return status, body, err
}

// readMessage reads a request or a response, which has a Content-Length.
func readMessage(in *bufio.Reader) (first string, body []byte, err error) {
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case first == "":
			first = string(line)
		case string(name) == "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return "", nil, err
			}
		case len(line) == 0:
			body = make([]byte, length)
			_, err = io.ReadFull(in, body)
			return first, body, err
		}
	}
}
