// The webhook on Go's standard library alone, by hand: the review as a struct with the raw object, a view of the object with the
// members that are read, and a patch that is written rather than computed. No framework works so; it is the least that Go takes.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID    string          `json:"uid"`
	Object json.RawMessage `json:"object"`
}

type response struct {
	UID       string  `json:"uid"`
	Allowed   bool    `json:"allowed"`
	Status    *status `json:"status,omitempty"`
	PatchType string  `json:"patchType,omitempty"`
	// encoding/json writes bytes in base64.
	Patch []byte `json:"patch,omitempty"`
}

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// view has the members of a Pod that the change depends on.
type view struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Containers []struct {
			Name string `json:"name"`
		} `json:"containers"`
		Volumes []struct {
			Name string `json:"name"`
		} `json:"volumes"`
	} `json:"spec"`
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

var (
	sidecar = map[string]any{
		"name": "agent", "image": "registry.example.com/agent:1.4", "args": []string{"--listen=:15000"},
		"volumeMounts": []map[string]string{{"name": "agent", "mountPath": "/agent"}},
	}
	volume = map[string]any{"name": "agent", "emptyDir": struct{}{}}
)

func mutate(request *request) (*response, error) {
	var pod view
	if err := json.Unmarshal(request.Object, &pod); err != nil {
		return nil, err
	}
	operations := []operation{{"add", "/spec/containers/-", sidecar}}
	if pod.Metadata.Annotations == nil {
		operations = append(operations, operation{"add", "/metadata/annotations", map[string]string{"bench.example.com/agent": "1.4"}})
	} else {
		operations = append(operations, operation{"add", "/metadata/annotations/bench.example.com~1agent", "1.4"})
	}
	if pod.Spec.Volumes == nil {
		operations = append(operations, operation{"add", "/spec/volumes", []any{volume}})
	} else {
		operations = append(operations, operation{"add", "/spec/volumes/-", volume})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	return &response{UID: request.UID, Allowed: true, PatchType: "JSONPatch", Patch: patch}, nil
}

func validate(request *request) (*response, error) {
	var pod view
	if err := json.Unmarshal(request.Object, &pod); err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) == 0 {
		return deny(request)
	}
	return &response{UID: request.UID, Allowed: true}, nil
}

func deny(request *request) (*response, error) {
	return &response{UID: request.UID, Status: &status{Code: 403, Message: "no pod today"}}, nil
}

func hook(decide func(*request) (*response, error)) http.HandlerFunc {
	return func(writer http.ResponseWriter, incoming *http.Request) {
		body, err := io.ReadAll(incoming.Body)
		var asked review
		if err == nil {
			err = json.Unmarshal(body, &asked)
		}
		if err == nil && asked.Request == nil {
			err = fmt.Errorf("no request")
		}
		var answer *response
		if err == nil {
			answer, err = decide(asked.Request)
		}
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(review{APIVersion: asked.APIVersion, Kind: asked.Kind, Response: answer})
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("ADDRESS FOLDER")
	}
	http.HandleFunc("/mutate", hook(mutate))
	http.HandleFunc("/validate", hook(validate))
	http.HandleFunc("/deny", hook(deny))
	server := &http.Server{
		Addr: os.Args[1],
		// kube-apiserver speaks HTTP/1.1 to webhooks behind a Service.
		TLSConfig: &tls.Config{NextProtos: []string{"http/1.1"}},
	}
	folder := os.Args[2]
	return server.ListenAndServeTLS(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-go-http:", err)
		os.Exit(1)
	}
}
