// Asks Go's own TLS client, set up as kube-apiserver sets it up for webhooks, whether it accepts a server.
// Cells come in as JSON on standard input; verdicts go out, one JSON string for each: empty when it does.
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

type cell struct {
	Bundle     []byte   // caBundle
	Chain      [][]byte // what the server presents, DER
	Key        []byte   // of the chain's first, PKCS#8
	ServerName string
	Now        int64 // seconds since 1970
}

func main() {
	var cells []cell
	if err := json.NewDecoder(os.Stdin).Decode(&cells); err != nil {
		panic(err)
	}
	verdicts := make([]string, len(cells))
	for i, cell := range cells {
		if err := cell.try(); err != nil {
			verdicts[i] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		panic(err)
	}
}

// As client-go does: no bundle means the system's roots, one without a certificate is an error.
func (c cell) try() error {
	var roots *x509.CertPool
	if len(c.Bundle) > 0 {
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(c.Bundle) {
			return errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	key, err := x509.ParsePKCS8PrivateKey(c.Key)
	if err != nil {
		return err
	}
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		certificate := tls.Certificate{Certificate: c.Chain, PrivateKey: key}
		server := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{certificate}})
		server.Handshake()
		server.Read(make([]byte, 1))
	}()
	return tls.Client(here, &tls.Config{
		RootCAs:    roots,
		ServerName: c.ServerName,
		NextProtos: []string{"http/1.1"},
		MinVersion: tls.VersionTLS12,
		Time:       func() time.Time { return time.Unix(c.Now, 0) },
	}).Handshake()
}
