/**
 */
export type FieldType =
  | 'text'
  | 'flag'
  | 'integer'
  | 'duration'
  | 'optionalText'
  | 'optionalFlag'
  | 'optionalNumber'
  | 'optionalDuration'
  | 'texts'
  | 'list'
  | 'map'
  | 'loggingFrequency'
  | 'quantity'
  | 'quantities'
  | Pointer
  | Entries
  | Fields;

export interface Fields {
  readonly [name: string]: FieldType;
}

export class Pointer {
  readonly fields: Fields;
  constructor(fields: Fields) {
    this.fields = fields;
  }
}

/** A list of objects, which a merge replaces as a whole. */
export class Entries {
  readonly fields: Fields;
  /** Fields that each entry always has, even with their zero values. */
  readonly zeros: Readonly<Record<string, unknown>>;
  constructor(fields: Fields, zeros: Readonly<Record<string, unknown>>) {
    this.fields = fields;
    this.zeros = zeros;
  }
}

const all = (type: FieldType, names: string): Fields =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, type]));

const WEBHOOK = { enabled: 'optionalFlag', cacheTTL: 'duration' } as const satisfies Fields;

const LOGGING_OPTIONS: Fields = { splitStream: 'flag', infoBufferSize: 'quantity' };

/** The fields of a KubeletConfiguration with their types. Source: k8s.io/kubelet v0.36, config/v1beta1/types.go. */
export const KUBELET_FIELDS: Fields = {
  ...all(
    'text',
    `staticPodPath podLogsDir staticPodURL address tlsCertFile tlsPrivateKeyFile tlsMinVersion
     imagePullCredentialsVerificationPolicy healthzBindAddress clusterDomain kubeletCgroups systemCgroups cgroupRoot
     cgroupDriver cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy topologyManagerScope hairpinMode podCIDR
     contentType containerLogMaxSize configMapAndSecretChangeDetectionStrategy reservedSystemCPUs
     showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup volumePluginDir providerID
     memoryReservationPolicy containerRuntimeEndpoint imageServiceEndpoint`,
  ),
  ...all(
    'flag',
    'rotateCertificates serverTLSBootstrap enableContentionProfiling runOnce protectKernelDefaults kernelMemcgNotification',
  ),
  ...all(
    'integer',
    `port readOnlyPort registryBurst eventBurst nodeLeaseDurationSeconds maxPods maxOpenFiles kubeAPIBurst
     evictionMaxPodGracePeriod podsPerCore`,
  ),
  ...all(
    'duration',
    `syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout nodeStatusUpdateFrequency
     nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod cpuManagerReconcilePeriod
     runtimeRequestTimeout evictionPressureTransitionPeriod shutdownGracePeriod shutdownGracePeriodCriticalPods`,
  ),
  ...all('optionalDuration', 'cpuCFSQuotaPeriod containerLogMonitorInterval'),
  ...all('optionalText', 'resolvConf'),
  ...all(
    'optionalFlag',
    `enableServer enableDebuggingHandlers cgroupsPerQOS singleProcessOOMKill cpuCFSQuota serializeImagePulls
     mergeDefaultEvictionSettings enableControllerAttachDetach makeIPTablesUtilChains failSwapOn enableSystemLogHandler
     enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler seccompDefault registerNode
     localStorageCapacityIsolation failCgroupV1`,
  ),
  ...all(
    'optionalNumber',
    `registryPullQPS eventRecordQPS healthzPort oomScoreAdj imageGCHighThresholdPercent imageGCLowThresholdPercent
     podPidsLimit nodeStatusMaxImages kubeAPIQPS maxParallelImagePulls iptablesMasqueradeBit iptablesDropBit
     containerLogMaxFiles containerLogMaxWorkers memoryThrottlingFactor`,
  ),
  ...all(
    'texts',
    'tlsCipherSuites preloadedImagesVerificationAllowlist clusterDNS enforceNodeAllocatable allowedUnsafeSysctls',
  ),
  tlsCurvePreferences: 'list',
  shutdownGracePeriodByPodPriority: new Entries(all('integer', 'priority shutdownGracePeriodSeconds'), {
    priority: 0,
    shutdownGracePeriodSeconds: 0,
  }),
  reservedMemory: new Entries({ numaNode: 'integer', limits: 'quantities' }, { numaNode: 0, limits: null }),
  registerWithTaints: new Entries(all('text', 'key value effect timeAdded'), { key: '', effect: '' }),
  ...all(
    'map',
    `staticPodURLHeader cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard evictionSoft
     evictionSoftGracePeriod evictionMinimumReclaim featureGates systemReserved kubeReserved`,
  ),
  tracing: new Pointer({ endpoint: 'optionalText', samplingRatePerMillion: 'optionalNumber' }),
  userNamespaces: new Pointer({ idsPerPod: 'optionalNumber' }),
  authentication: {
    x509: { clientCAFile: 'text' },
    webhook: WEBHOOK,
    anonymous: { enabled: 'optionalFlag' },
  },
  authorization: { mode: 'text', webhook: { cacheAuthorizedTTL: 'duration', cacheUnauthorizedTTL: 'duration' } },
  memorySwap: { swapBehavior: 'text' },
  crashLoopBackOff: { maxContainerRestartPeriod: 'optionalDuration' },
  logging: {
    format: 'text',
    flushFrequency: 'loggingFrequency',
    verbosity: 'integer',
    vmodule: new Entries({ filePattern: 'text', verbosity: 'integer' }, { filePattern: '', verbosity: 0 }),
    options: { json: LOGGING_OPTIONS, text: LOGGING_OPTIONS },
  },
};
