// Command kubelet is the part of a kubelet that `kubectl port-forward` and `kubectl logs` reach through the API server. It
// runs no container: `PORT=ADDRESS` on its command line is where a port of every pod leads, and the file of `-log` is the log
// of every container. It prints the port of 127.0.0.1 on which it serves.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

func main() {
	log := flag.String("log", "", "the log of every container")
	flag.Parse()
	addresses := map[string]string{}
	for _, argument := range flag.Args() {
		port, address, _ := strings.Cut(argument, "=")
		addresses[port] = address
	}
	http.HandleFunc("/containerLogs/", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, *log) })
	http.HandleFunc("/portForward/", func(w http.ResponseWriter, r *http.Request) { portForward(w, r, addresses) })
	server := httptest.NewTLSServer(http.DefaultServeMux)
	fmt.Println("port", server.Listener.Addr().(*net.TCPAddr).Port)
	select {}
}

// Each connection of the user is two streams, one for its bytes and one for errors.
func portForward(w http.ResponseWriter, r *http.Request, addresses map[string]string) {
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	accept := func(stream httpstream.Stream, replySent <-chan struct{}) error {
		go func() {
			<-replySent
			if stream.Headers().Get("streamType") == "data" {
				connect(stream, addresses[stream.Headers().Get("port")])
			} else {
				stream.Close()
			}
		}()
		return nil
	}
	if connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, accept); connection != nil {
		<-connection.CloseChan()
	}
}

func connect(stream httpstream.Stream, address string) {
	target, err := net.Dial("tcp", address)
	if err != nil {
		stream.Reset()
		return
	}
	defer target.Close()
	go func() {
		io.Copy(target, stream)
		target.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(stream, target)
	stream.Close()
}
