import { DASHBOARD_APP } from '../objects/dashboard.ts';
import { CONFIG_APP } from '../objects/machine-config.ts';
import { CONTROLLER_APP, DEFAULT_INSTALL, FLEET_APP, PORTS, PROVIDERS, shared } from '../objects/settings.ts';
import { FIXED_FLAGS } from './chart-flags.ts';
import { repositoryOf } from './chart-values.ts';

export const HELPERS = `{{/* The value of the label app.kubernetes.io/name. */}}
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
${CONTROLLER_APP}
{{- else -}}
{{- include "mcm.account" . -}}
{{- end -}}
{{- end }}

{{/* The ServiceAccount of a fleet. */}}
{{- define "mcm.fleetAccount" -}}
{{- default "${FLEET_APP}" .Values.serviceAccount.name -}}
{{- end }}

{{/* The label selector of the namespaces that a fleet serves. */}}
{{- define "mcm.fleetNamespaces" -}}
{{- default (printf "${FLEET_APP}=%s" (include "mcm.provider" .)) .Values.fleet.selector -}}
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
{{- required "provider must be set: ${PROVIDERS.join(', ')}, or the name of another provider with images.controller.repository" .Values.provider -}}
{{- end }}

{{/* The image of a container: registry, repository, tag, digest. */}}
{{- define "mcm.image" -}}
{{- $image := index .root.Values.images .container -}}
{{- $repository := $image.repository -}}
{{- if and (eq .container "controller") (not $repository) -}}
{{- $provider := include "mcm.provider" .root -}}
{{- if not (has $provider (list ${PROVIDERS.map((name) => `"${name}"`).join(' ')})) -}}
{{- fail (printf "images.controller.repository must be set for the provider %s" $provider) -}}
{{- end -}}
{{- $repository = printf "${repositoryOf(DEFAULT_INSTALL.images.controller).replace(/local$/, '%s')}" $provider -}}
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
`;

export const CHECKS = `{{- if and .Values.fleet.enabled .Values.separateController.enabled }}
{{- fail "fleet.enabled and separateController.enabled must not both be true: a fleet runs both programs in each pod" }}
{{- end }}
${FIXED_FLAGS}`;

export const NOTES = `{{ .Chart.Name }} {{ .Chart.AppVersion }} is installed in namespace {{ .Release.Namespace }}, with provider {{ include "mcm.provider" . }}.
{{- if .Values.fleet.enabled }}

1. Wait until the replicas of the fleet are ready:

     kubectl -n {{ .Release.Namespace }} rollout status statefulset/${FLEET_APP}

{{- $bind := printf "kubectl -n NAMESPACE create rolebinding ${FLEET_APP} --clusterrole=${FLEET_APP}-cluster.%s --serviceaccount=%s:%s" .Release.Namespace .Release.Namespace (include "mcm.fleetAccount" .) }}
{{- if .Values.fleet.clusters }}

2. Add a Cluster of Cluster API: bind the role in its namespace, and add the labels:

     {{ $bind }}
     kubectl -n NAMESPACE label cluster.cluster.x-k8s.io NAME {{ .Values.fleet.clusters }}
     kubectl label namespace NAMESPACE {{ .Values.fleet.clusters }}
{{- else if .Values.fleet.clusterProfiles }}

2. Add a ClusterProfile: create the Secret with its kubeconfig, and add the labels:

     kubectl -n {{ .Release.Namespace }} create secret generic NAME --from-file=Config=FILE
     kubectl -n {{ .Release.Namespace }} label secret NAME x-k8s.io/cluster-profile=NAME
     kubectl -n {{ .Release.Namespace }} label clusterprofile NAME {{ .Values.fleet.clusterProfiles }}
{{- else }}

2. Add a cluster: create the Secret fleet-kubeconfig in its namespace, bind the role, and add the label:

     kubectl -n NAMESPACE create secret generic fleet-kubeconfig --from-file=kubeconfig=FILE
     {{ $bind }}
     kubectl label namespace NAMESPACE {{ include "mcm.fleetNamespaces" . }}
{{- end }}
{{- if and .Values.fleet.namespaces (not .Values.fleet.clusterProfiles) }}

The chart has bound the role in {{ join ", " .Values.fleet.namespaces }}.
{{- end }}

3. Show the clusters:

     kubectl -n {{ .Release.Namespace }} port-forward pod/${FLEET_APP}-0 ${PORTS.manager.plain} &
     curl -s http://127.0.0.1:${PORTS.manager.plain}/debug/fleet

docs/fleet-mode.md describes the roles in the target clusters.
{{- else if not .Values.workload.enabled }}

workload.enabled is false: no controller runs.
{{- else }}

1. Wait until the controllers are ready:

     kubectl -n {{ .Release.Namespace }} rollout status deployment/{{ include "mcm.fullname" . }}
{{- if .Values.separateController.enabled }}
     kubectl -n {{ .Release.Namespace }} rollout status deployment/${CONTROLLER_APP}
{{- end }}
{{- if .Values.machineConfig.enabled }}
     kubectl -n {{ .Release.Namespace }} rollout status deployment/${CONFIG_APP}
{{- end }}

2. Show which pod is the leader of each controller:

     kubectl -n {{ .Release.Namespace }} get leases

3. Create a Secret, a MachineClass and a MachineDeployment for {{ .Values.provider }}. docs/install.md describes the first machines.
{{- end }}
{{- if .Values.dashboard.enabled }}

Open the dashboard: grant the role to a ServiceAccount, create a token for the login, and open https://127.0.0.1:8443:

     kubectl create clusterrolebinding ${DASHBOARD_APP}-NAME --clusterrole=${shared(`${DASHBOARD_APP}-users`, '{{ .Release.Namespace }}')} --serviceaccount=NAMESPACE:NAME
     kubectl -n NAMESPACE create token NAME
     kubectl -n {{ .Release.Namespace }} port-forward service/${DASHBOARD_APP} 8443:443
{{- end }}
{{- if not .Values.crds.enabled }}

crds.enabled is false: apply the CRDs of this version yourself before each upgrade.
{{- end }}
{{- if and .Values.targetRbac.enabled (not .Values.fleet.enabled) (ne .Values.kubeconfigs.target "inClusterConfig") }}

The nodes are in another cluster (kubeconfigs.target). Install the roles in the target cluster: mcm install --part target
{{- end }}
{{- if and .Values.monitoring.enabled (not .Values.monitoring.runbookBaseUrl) }}

Alerts have no links to their runbooks, because monitoring.runbookBaseUrl is empty.
{{- end }}
`;
