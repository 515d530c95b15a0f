{{/* The value of the label app.kubernetes.io/name. */}}
{{- define "mcm.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* The name of all objects. It does not contain the name of the release: an installation per namespace is possible. */}}
{{- define "mcm.fullname" -}}
{{- default (include "mcm.name" .) .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* The ServiceAccount of the pods. */}}
{{- define "mcm.account" -}}
{{- default (include "mcm.fullname" .) .Values.serviceAccount.name -}}
{{- end }}

{{/* The ServiceAccount of the machine controller. */}}
{{- define "mcm.controllerAccount" -}}
{{- if .Values.separateController.enabled -}}
machine-controller
{{- else -}}
{{- include "mcm.account" . -}}
{{- end -}}
{{- end }}

{{/* The ServiceAccount of a fleet. */}}
{{- define "mcm.fleetAccount" -}}
{{- default "mcm-fleet" .Values.serviceAccount.name -}}
{{- end }}

{{/* The label selector of the namespaces that a fleet serves. */}}
{{- define "mcm.fleetNamespaces" -}}
{{- default (printf "mcm-fleet=%s" (include "mcm.provider" .)) .Values.fleet.selector -}}
{{- end }}

{{/* Labels of all objects, in addition to app.kubernetes.io/name and part-of. They are not part of a selector. */}}
{{- define "mcm.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The provider, which has no default. */}}
{{- define "mcm.provider" -}}
{{- required "provider must be set: aws, azure, gcp, local, or the name of another provider with images.controller.repository" .Values.provider -}}
{{- end }}

{{/* The image of a container: registry, repository, tag, digest. */}}
{{- define "mcm.image" -}}
{{- $image := index .root.Values.images .container -}}
{{- $repository := $image.repository -}}
{{- if and (eq .container "controller") (not $repository) -}}
{{- $provider := include "mcm.provider" .root -}}
{{- if not (has $provider (list "aws" "azure" "gcp" "local")) -}}
{{- fail (printf "images.controller.repository must be set for the provider %s" $provider) -}}
{{- end -}}
{{- $repository = printf "mcm/machine-controller-%s" $provider -}}
{{- end -}}
{{- with .root.Values.image.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- $repository -}}
{{- with $image.digest -}}
{{- with $image.tag }}:{{ . }}{{ end -}}
@{{ . }}
{{- else -}}
:{{ default .root.Chart.AppVersion $image.tag }}
{{- end -}}
{{- end }}
