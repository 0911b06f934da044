// Sends the requests from standard input with one net/http client, and prints the statuses of the responses.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\t")
		content, _ := base64.StdEncoding.DecodeString(parts[3])
		var body io.Reader
		if len(content) > 0 && len(os.Args) > 1 {
			body = io.MultiReader(bytes.NewReader(content)) // an unknown length, so chunked
		} else if len(content) > 0 {
			body = bytes.NewReader(content)
		}
		request, _ := http.NewRequest(parts[0], parts[1], body)
		for _, header := range strings.Split(parts[2], "|") {
			name, value, _ := strings.Cut(header, ":")
			request.Header.Set(name, value)
		}
		answer, failure := http.DefaultClient.Do(request)
		if failure != nil {
			panic(failure)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode)
	}
}
