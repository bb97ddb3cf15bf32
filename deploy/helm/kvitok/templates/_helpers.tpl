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

{{- /* What all containers of the service share. */}}
{{- define "kvitok.container" -}}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret }}}
{{ include "kvitok.image" . }}
{{- end }}

{{- /* What all containers of the image share, edges too. */}}
{{- define "kvitok.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: state, mountPath: /var/lib/kvitok}
  - {name: tmp, mountPath: /tmp}
  - {name: metrics, mountPath: /run/kvitok/metrics}
{{- end }}

{{- define "kvitok.metricsEnvironment" -}}
- {name: METRICS_DIR, value: /run/kvitok/metrics}
{{- if .Values.metrics.enabled }}
- {name: METRICS_PORT, value: {{ .Values.metrics.port | quote }}}
- {name: METRICS_HOST, value: 0.0.0.0}
{{- end }}
{{- end }}

{{- define "kvitok.environment" -}}
{{ include "kvitok.metricsEnvironment" . }}
{{- range $name, $value := .Values.environment }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- /* Variables that edges share with the service, then their own. Of the secret only what an edge needs. */}}
{{- define "kvitok.edgeEnvironment" -}}
{{- $keys := pick .Values.edge.environment "CLICKHOUSE_URL" "DATABASE_DIRECT_URL" "DATABASE_REPLICA_URL" "DATABASE_URL" "EDGE_TOKENS" "EMAIL_HOST_PASSWORD" "LINKS_REDIS_URL" "MFA_KEYS" "OTP_KEYS" "SECRET_KEY" "SECRET_KEY_FALLBACKS" "WEBHOOK_KEYS" }}
{{- if $keys }}{{ fail (printf "edge.environment: no edge may hold %s" (keys $keys | sortAlpha | join ", ")) }}{{ end }}
{{- $shared := pick .Values.environment "ENVIRONMENT" "PUBLIC_URL" "SHORT_URL" "TERMS_URL" "PRIVACY_URL" "SUPPORT_URL" "SUPPORT_EMAIL" "LINK_MISS_LIMIT" "COUNTRY_HEADER" "COUNTRY_DATABASE" }}
{{- $environment := merge (dict) .Values.edge.environment $shared }}
{{- range list "PUBLIC_URL" "SHORT_URL" }}
{{- if not (get $environment .) }}{{ fail (printf "edges need %s in environment, as the service has it" .) }}{{ end }}
{{- end }}
{{- include "kvitok.metricsEnvironment" . }}
{{- range $name, $value := $environment }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- $names := list "EDGE_TOKEN" "REDIS_URL" }}
{{- if not .Values.edge.replica.enabled }}{{ $names = append $names "EDGE_REPLICA_URL" }}{{ end }}
{{- range $names }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.Values.edge.existingSecret }}, key: {{ . }}}}
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
