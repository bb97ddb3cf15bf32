{{- define "kvitok.name" -}}
{{- if contains "kvitok" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-kvitok{{ end }}
{{- end }}

{{- define "kvitok.labels" -}}
{{ include "kvitok.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "kvitok.selector" -}}
app.kubernetes.io/name: kvitok
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "kvitok.podMeta" -}}
labels: {{- include "kvitok.labels" . | nindent 2 }}
{{- if .root.Values.metrics.enabled }}
annotations:
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .root.Values.metrics.port | quote }}
{{- end }}
{{- end }}

{{- /* What all pods share. */}}
{{- define "kvitok.podSpec" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - {name: state, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
  - {name: metrics, emptyDir: {medium: Memory}}
{{- end }}

{{- /* What all containers share. */}}
{{- define "kvitok.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret }}}
volumeMounts:
  - {name: state, mountPath: /var/lib/kvitok}
  - {name: tmp, mountPath: /tmp}
  - {name: metrics, mountPath: /run/kvitok/metrics}
{{- end }}

{{- define "kvitok.environment" -}}
- {name: METRICS_DIR, value: /run/kvitok/metrics}
{{- if .Values.metrics.enabled }}
- {name: METRICS_PORT, value: {{ .Values.metrics.port | quote }}}
- {name: METRICS_HOST, value: {{ .Values.listenAddress | quote }}}
{{- end }}
{{- range $name, $value := .Values.environment }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "kvitok.metricsContainer" -}}
{{- if .Values.metrics.enabled }}
- name: metrics
  {{- include "kvitok.container" . | nindent 2 }}
  command: [python, manage.py, run_metrics]
  env: {{- include "kvitok.environment" . | nindent 4 }}
  ports: [{name: metrics, containerPort: {{ .Values.metrics.port }}}]
  resources: {{- toYaml .Values.metrics.resources | nindent 4 }}
{{- end }}
{{- end }}

{{- /* Restarts a process that has written no heartbeat for three minutes, unless PostgreSQL is away. */}}
{{- define "kvitok.heartbeatProbe" -}}
livenessProbe:
  exec: {command: [python, deploy/heartbeat.py, {{ . | quote }}]}
  initialDelaySeconds: 60
  periodSeconds: 60
  timeoutSeconds: 10
  failureThreshold: 3
{{- end }}
