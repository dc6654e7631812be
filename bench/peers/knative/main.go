// The webhook on knative/pkg: its AdmissionController and webhook.Webhook, with a patch by duck.CreateBytePatch.
//
// The certificate comes from files instead of a Secret, since the bench has no cluster; as in knative it is parsed in each handshake.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis/duck"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/network/handlers"
	"knative.dev/pkg/webhook"
)

// controller is a stateless AdmissionController.
type controller struct {
	webhook.StatelessAdmissionImpl
	path  string
	admit func(*corev1.Pod) ([]byte, error)
}

func (c *controller) Path() string { return c.path }

func (c *controller) Admit(_ context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(request.Object.Raw, pod); err != nil {
		return webhook.MakeErrorStatus("decoding the pod: %v", err)
	}
	patch, err := c.admit(pod)
	if err != nil {
		return webhook.MakeErrorStatus("%v", err)
	}
	response := &admissionv1.AdmissionResponse{Allowed: true}
	if patch != nil {
		kind := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &kind
	}
	return response
}

func mutate(pod *corev1.Pod) ([]byte, error) {
	changed := pod.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations["bench.example.com/agent"] = "1.4"
	changed.Spec.Containers = append(changed.Spec.Containers, corev1.Container{
		Name:         "agent",
		Image:        "registry.example.com/agent:1.4",
		Args:         []string{"--listen=:15000"},
		VolumeMounts: []corev1.VolumeMount{{Name: "agent", MountPath: "/agent"}},
	})
	changed.Spec.Volumes = append(changed.Spec.Volumes, corev1.Volume{
		Name:         "agent",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	return duck.CreateBytePatch(pod, changed)
}

func validate(pod *corev1.Pod) ([]byte, error) {
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("a pod needs a container")
	}
	return nil, nil
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("ADDRESS FOLDER")
	}
	config := zap.NewProductionConfig()
	if os.Getenv("BENCH_LOG") == "warn" {
		config.Level = zap.NewAtomicLevelAt(zapcore.WarnLevel)
	}
	logger, err := config.Build()
	if err != nil {
		return err
	}
	ctx := logging.WithLogger(context.Background(), logger.Sugar())
	ctx = webhook.WithOptions(ctx, webhook.Options{ServiceName: "bench"})
	hooks, err := webhook.New(ctx, []interface{}{
		&controller{path: "/mutate", admit: mutate},
		&controller{path: "/validate", admit: validate},
	})
	if err != nil {
		return err
	}
	hooks.InformersHaveSynced()
	certificate, err := os.ReadFile(filepath.Join(os.Args[2], "tls.crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(os.Args[2], "tls.key"))
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr:              os.Args[1],
		Handler:           &handlers.Drainer{Inner: hooks},
		ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13,
			// kube-apiserver speaks HTTP/1.1 to webhooks behind a Service.
			NextProtos: []string{"http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				pair, err := tls.X509KeyPair(certificate, key)
				return &pair, err
			},
		},
	}
	return server.ListenAndServeTLS("", "")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-knative:", err)
		os.Exit(1)
	}
}
