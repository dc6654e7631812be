// Dials TLS servers as kube-apiserver dials webhooks, and says what it thinks of each. Questions come in as JSON on
// standard input; verdicts go out, one JSON string for each: empty where the server is accepted.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"os"
	"time"
)

type question struct {
	Address    string
	Bundle     []byte // caBundle
	ServerName string
	Now        int64 // seconds since 1970
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		panic(err)
	}
	verdicts := make([]string, len(questions))
	for i, question := range questions {
		if err := question.ask(); err != nil {
			verdicts[i] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		panic(err)
	}
}

func (q question) ask() error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(q.Bundle) {
		return errors.New("unable to load root certificates: unable to parse bytes as PEM block")
	}
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", q.Address, &tls.Config{
		RootCAs:    roots,
		ServerName: q.ServerName,
		NextProtos: []string{"http/1.1"},
		MinVersion: tls.VersionTLS12,
		Time:       func() time.Time { return time.Unix(q.Now, 0).UTC() },
	})
	if err == nil {
		connection.Close()
	}
	return err
}
