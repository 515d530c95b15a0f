export { type CertificateFiles, type ServedCertificate, serveCertificateFiles } from './admission/certificate-files.ts';
export {
  type AdmissionCause,
  type AdmissionHandler,
  type AdmissionRequest,
  type AdmissionVerdict,
  answerReview,
} from './admission/review.ts';
export { issueAuthority, issueServing } from './admission/self-made/issue.ts';
export { keepSelfMadeCertificates, type SelfMadeOptions } from './admission/self-made/keep.ts';
export { type AdmissionServer, type ServingPair, startAdmissionServer } from './admission/server.ts';
export { type BackoffOptions, backoffMs } from './base/backoff.ts';
export { defined, withoutUndefined } from './base/defined.ts';
export { errorText } from './base/error-text.ts';
export { nearest } from './base/nearest.ts';
export { createOutageLog, type OutageLog } from './base/outage-log.ts';
export { type Random, randomString, seededRandom } from './base/random.ts';
export { conformingClient } from './client/conforming-client.ts';
export { type ClientOptions, createClient, userAgent } from './client/create-client.ts';
export { type EvictedPod, type Eviction, evictPod } from './client/evict-pod.ts';
export type { RequestSample } from './client/exchange.ts';
export { isPathSegment, isWatch } from './client/paths.ts';
export type { RateLimit } from './client/rate-limit.ts';
export { unreached } from './client/unreached.ts';
export { type Clock, pause, realClock, sleep, type Timer } from './clock/clock.ts';
export { VirtualClock, type VirtualClockOptions } from './clock/virtual-clock.ts';
export type {
  DeleteOptions,
  ItemOptions,
  KubeClient,
  List,
  ListOptions,
  Patch,
  RequestOptions,
  ResourceClient,
  ResourceReader,
  ResourceWriter,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './contract/client.ts';
export { again, type Controller, done, type Outcome, type Reconcile, soonest } from './contract/controller.ts';
export {
  ignoreNotFound,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isNotSent,
  isTooManyRequests,
  KubeError,
  type StatusBody,
} from './contract/errors.ts';
export type { Change, Informer, InformerOptions, Store } from './contract/informer.ts';
export { isRecord, tryParseJson } from './contract/json-values.ts';
export type { Logger } from './contract/logger.ts';
export {
  controllerOf,
  type Draft,
  type Key,
  type KubeObject,
  keyOf,
  makeKey,
  type ObjectMeta,
  type OwnerReference,
  type ResourceDefinition,
  splitKey,
} from './contract/objects.ts';
export type { EventOptions, EventRecorder } from './contract/recorder.ts';
export { type LeaseVacancy, ServerHistory } from './contract/server-history.ts';
export { conform, type Fault, type Shape } from './contract/shape.ts';
export type { Transport, TransportRequest, TransportResponse } from './contract/transport.ts';
export { type ClusterConfig, ConfigError } from './credentials/cluster-config.ts';
export type { FilesNews } from './credentials/follow-files.ts';
export { IN_CLUSTER, kubeconfigOfText, type LoadOptions, loadKubeconfig } from './credentials/load-kubeconfig.ts';
export type { Fence } from './election/fence.ts';
export { fencedClient } from './election/fenced-client.ts';
export { holderSettings } from './election/record.ts';
export { type ElectionEnd, runElected } from './election/run-elected.ts';
export { DEFAULT_ELECTION_TIMINGS, type ElectionOptions, type ElectionTimings } from './election/settings.ts';
export { createRecorder, type RecorderOptions } from './events/create-recorder.ts';
export { makeFolder } from './files/make-folder.ts';
export { type CommonDefaults, type CommonFlags, commonFlags } from './flags/common-flags.ts';
export { formatDuration, parseDuration } from './flags/duration.ts';
export {
  type Feature,
  type FeatureStates,
  type Features,
  featureGatesFlag,
  registerFeatures,
} from './flags/feature-gates.ts';
export {
  booleanFlag,
  durationFlag,
  type Flag,
  type Flags,
  type FlagValues,
  flagGroup,
  ignoredFlag,
  integerFlag,
  integersFlag,
  listFlag,
  numberFlag,
  textFlag,
} from './flags/flag.ts';
export { variableOf } from './flags/given.ts';
export { type Parsed, type Program, parseFlags } from './flags/parse-flags.ts';
export type { RolloutNeeds, RolloutPermit } from './fleet/budget/permit.ts';
export { findServedKind } from './fleet/discovery/served-kind.ts';
export {
  CLUSTER_API_CLUSTERS,
  CLUSTER_API_KEY,
  CLUSTER_PROFILE_KEY,
  CLUSTER_PROFILES,
  type ClusterApiCluster,
  clusterApiSecretOf,
  isPausedCluster,
} from './fleet/discovery/source-kinds.ts';
export { FLEET_SECRET, type FleetSourceFlag, fleetFlags, fleetSourceOf } from './fleet/flags.ts';
export { registerCacheSize } from './fleet/hand-over.ts';
export type { RegionReach } from './fleet/regions.ts';
export { createInformer, type InformerRuntime } from './informer/create-informer.ts';
export { Demand } from './informer/demand.ts';
export { faultsOf, faultText, isHeld } from './informer/faults.ts';
export { deepFreeze } from './informer/freeze.ts';
export { type Permission, permissionText, refusedPermission } from './informer/permission.ts';
export { refusalOf } from './informer/refusal.ts';
export { createLogger, type LoggerOptions } from './log/create-logger.ts';
export { FileSink, type LossyOptions, LossyWriter, type Sink } from './log/lossy-writer.ts';
export {
  createMemoryLogger,
  type LogLevel,
  type LogLine,
  type MemoryLogger,
  silentLogger,
} from './log/memory-logger.ts';
export { createMetrics, type Metrics, type MetricsOptions } from './metrics/create-metrics.ts';
export type { MeterLabels, MeterName, Meters, Sample } from './metrics/meters.ts';
export { watchProcess } from './metrics/process.ts';
export { observingClient } from './observe/client.ts';
export { type Decision, ObserveDecisions, type Outcome as ObserveOutcome } from './observe/decisions.ts';
export {
  type ControllerOptions,
  createController,
  type QueueGauges,
  type QueueMetrics,
} from './queue/create-controller.ts';
export type { QueueObserver } from './queue/work-queue.ts';
export { type Access, type AccessRequest, createAccess, type Refusal } from './run/cluster/access.ts';
export { discoverResources, type WaitOptions, waitForApiServer } from './run/cluster/api-server.ts';
export { type Cluster, type ClusterSettings, type Clusters, connectClusters } from './run/cluster/clusters.ts';
export type { BinaryContext, BinaryDefinition, Configuration } from './run/definition.ts';
export { registerFleetMetrics } from './run/fleet-process.ts';
export { type DebugAnswer, type DebugPage, DebugPages } from './run/health/debug-pages.ts';
export { type Arrived, type ForeignRefusal, foreignRefusal } from './run/health/foreign.ts';
export type { Check } from './run/health/health.ts';
export { type PlainAnswer, type PlainRequest, startTlsServer, type TlsServer } from './run/health/tls-server.ts';
export { createManager, type Manager, type ManagerOptions } from './run/manager.ts';
export { type Host, processHost } from './run/process/host.ts';
export type { Phase, PhaseState, PhaseStatus, Stop } from './run/process/phase.ts';
export { runBinary } from './run/run-binary.ts';
export { type Need, type Unit, UnitRunner, type UnitRunnerOptions } from './run/units.ts';
export { type ExpectedCrd, registerWarningMetrics } from './run/warnings/index.ts';
export { createSpanExporter, type SpanExporter, type SpanExporterOptions } from './tracing/exporter.ts';
export { otlpBody, type Resource } from './tracing/otlp.ts';
export { type TracingOff, type TracingSettings, tracingSettings } from './tracing/settings.ts';
export { type Span, type SpanEvent, type SpanValue, spanIdOf, traceIdOf } from './tracing/span.ts';
export { registerSpanMetrics } from './tracing/span-metrics.ts';
export { handlerTransport } from './transports/handler.ts';
export { type UndiciTransport, type UndiciTransportOptions, undiciTransport } from './transports/undici.ts';
export {
  type Condition,
  type ConfigMap,
  configMaps,
  type EventObject,
  events,
  isReady,
  type Node,
  namespaces,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Secret,
  secrets,
  type Taint,
} from './types/core.ts';
export { FleetAnnotations } from './types/fleet-annotations.ts';
export { FleetSourceLabels } from './types/fleet-source-keys.ts';
export {
  type CsiNode,
  csiNodes,
  type EvictionRequest,
  evictionRequests,
  evictions,
  type LabelSelector,
  type Lease,
  leases,
  mutatingWebhookConfigurations,
  type PodDisruptionBudget,
  type PodEviction,
  type PriorityClass,
  podDisruptionBudgets,
  priorityClasses,
  type VolumeAttachment,
  validatingWebhookConfigurations,
  volumeAttachments,
  type WebhookConfiguration,
} from './types/groups.ts';
export { LeaseAnnotations } from './types/lease-annotations.ts';
