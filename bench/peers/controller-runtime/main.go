// The webhook on controller-runtime, in the way its documentation shows: Decode, change, PatchResponseFromRaw.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// addSidecar makes the change of the bench.
func addSidecar(pod *corev1.Pod) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["bench.example.com/agent"] = "1.4"
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name:         "agent",
		Image:        "registry.example.com/agent:1.4",
		Args:         []string{"--listen=:15000"},
		VolumeMounts: []corev1.VolumeMount{{Name: "agent", MountPath: "/agent"}},
	})
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name:         "agent",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
}

// mutator is the handler of the documentation.
type mutator struct{ decoder admission.Decoder }

func (m *mutator) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := m.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	addSidecar(pod)
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, changed)
}

// byHand decodes the Pod and writes the operations itself.
type byHand struct{ decoder admission.Decoder }

func (m *byHand) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := m.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	annotation := jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{"bench.example.com/agent": "1.4"})
	if pod.Annotations != nil {
		annotation = jsonpatch.NewOperation("add", "/metadata/annotations/bench.example.com~1agent", "1.4")
	}
	return admission.Patched("", annotation,
		jsonpatch.NewOperation("add", "/spec/containers/-", map[string]any{
			"name": "agent", "image": "registry.example.com/agent:1.4", "args": []string{"--listen=:15000"},
			"volumeMounts": []map[string]string{{"name": "agent", "mountPath": "/agent"}},
		}),
		jsonpatch.NewOperation("add", "/spec/volumes/-", map[string]any{"name": "agent", "emptyDir": struct{}{}}))
}

// validator allows every Pod that has a container.
type validator struct{ decoder admission.Decoder }

func (v *validator) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := v.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if len(pod.Spec.Containers) == 0 {
		return admission.Denied("a pod needs a container")
	}
	return admission.Allowed("")
}

// worker computes for 1 ms and allows.
type worker struct{ decoder admission.Decoder }

func (w *worker) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := w.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	for began := time.Now(); time.Since(began) < time.Millisecond; {
	}
	return admission.Allowed("")
}

func deny(context.Context, admission.Request) admission.Response {
	return admission.Denied("no pod today")
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("ADDRESS FOLDER")
	}
	host, text, _ := strings.Cut(os.Args[1], ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	// The production mode: lines as JSON from info on.
	level := zapcore.InfoLevel
	if os.Getenv("BENCH_LOG") == "warn" {
		level = zapcore.WarnLevel
	}
	ctrl.SetLogger(zap.New(zap.Level(level)))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{
		Host: host, Port: port, CertDir: os.Args[2],
		// kube-apiserver speaks HTTP/1.1 to webhooks behind a Service.
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	})
	decoder := admission.NewDecoder(scheme)
	server.Register("/mutate", &webhook.Admission{Handler: &mutator{decoder}})
	server.Register("/mutate-by-hand", &webhook.Admission{Handler: &byHand{decoder}})
	server.Register("/work", &webhook.Admission{Handler: &worker{decoder}})
	server.Register("/deny", &webhook.Admission{Handler: admission.HandlerFunc(deny)})
	server.Register("/validate", &webhook.Admission{Handler: &validator{decoder}})
	return server.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-controller-runtime:", err)
		os.Exit(1)
	}
}
