/**
 * How a field of a KubeletConfiguration is held. `optional…`: its zero value is told from its absence (a pointer in the
 * original). Others at their zero value count as not given.
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
  | 'any'
  | Fields;

/** Fields of an object by name. */
export interface Fields {
  readonly [name: string]: FieldType;
}

const all = (type: FieldType, names: string): Fields =>
  Object.fromEntries(names.split(/\s+/).map((name) => [name, type]));

const WEBHOOK = { enabled: 'optionalFlag', cacheTTL: 'duration' } as const satisfies Fields;

/** The fields of KubeletConfiguration. Source: k8s.io/kubelet v0.36, config/v1beta1/types.go. */
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
  ...all('list', 'tlsCurvePreferences shutdownGracePeriodByPodPriority reservedMemory registerWithTaints'),
  ...all(
    'map',
    `staticPodURLHeader cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard evictionSoft
     evictionSoftGracePeriod evictionMinimumReclaim featureGates systemReserved kubeReserved`,
  ),
  ...all('any', 'tracing userNamespaces'),
  authentication: {
    x509: { clientCAFile: 'text' },
    webhook: WEBHOOK,
    anonymous: { enabled: 'optionalFlag' },
  },
  authorization: { mode: 'text', webhook: { cacheAuthorizedTTL: 'duration', cacheUnauthorizedTTL: 'duration' } },
  memorySwap: { swapBehavior: 'text' },
  crashLoopBackOff: { maxContainerRestartPeriod: 'optionalDuration' },
  logging: { format: 'text', flushFrequency: 'any', verbosity: 'integer', vmodule: 'list', options: 'any' },
};
