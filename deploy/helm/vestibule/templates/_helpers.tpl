{{- define "vestibule.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "vestibule.httpsPort" -}}
{{ .Values.ports.https | default (ternary 10260 10250 .Values.hostNetwork) }}
{{- end -}}

{{- define "vestibule.plainPort" -}}
{{ .Values.ports.plain | default (ternary 10261 9090 .Values.hostNetwork) }}
{{- end -}}

{{- define "vestibule.podSecurity" -}}
fsGroup: 65532
runAsGroup: 65532
runAsNonRoot: true
runAsUser: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "vestibule.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- end -}}
