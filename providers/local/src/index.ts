export { CLOUD_ERRORS, CloudError, type CloudErrorCode } from './cloud/context/errors.ts';
export { type FaultRule, Faults, faultRule, type OrderedFault } from './cloud/context/faults.ts';
export type { LoggedRequest, OperationCounter } from './cloud/context/request-log.ts';
export type { Latencies } from './cloud/context/settings.ts';
export { type Cloud, type CloudOptions, createCloud, DEFAULT_ZONES } from './cloud/create-cloud.ts';
export { createLocalCloud, type LocalCloud, type LocalCloudOptions } from './cloud/local-cloud.ts';
export { MemoryStore } from './cloud/store/memory-store.ts';
export { openSqliteStore } from './cloud/store/sqlite-store.ts';
export { type CloudStore, type StoredRow, StoreError } from './cloud/store/store.ts';
export { storedMemory } from './cloud/store/stored-memory.ts';
export { createLocalDriver, type LocalDriver, type LocalDriverOptions, NAMESPACE_TAG } from './driver/driver.ts';
export type { NodeCluster } from './kubelet/enrolment.ts';
export { KubeletHost, type KubeletHostOptions } from './kubelet/kubelet-host.ts';
export type { ApiAddress, ApiTransport } from './kubelet/node/api-address.ts';
export { PodAnnotations } from './kubelet/pods/project-pod.ts';
export { type KubeletBehaviour, kubeletBehaviour } from './machine/behaviour.ts';
export { bootText } from './machine/boot-text.ts';
export type {
  BootOptions,
  Image,
  Instance,
  InstanceHost,
  InstanceState,
  MachineType,
  Quotas,
  Volume,
} from './machine/model.ts';
export { type LocalSettings, localFlags, localSettings } from './settings.ts';
export { formatProviderId, instanceIdOf } from './spec/provider-id.ts';
export { LocalCredentials, LocalProviderSpec } from './spec/schemas.ts';
