/** A taint that the controllers write. */
export interface KnownTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Taints that the controllers add to nodes or remove from them. */
export const Taints = {
  /** The taint of nodes with an old template during a rollout. */
  PreferNoSchedule: {
    key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
    value: 'True',
    effect: 'PreferNoSchedule',
  },
  /** The taint of nodes whose critical components are not ready. A machine stays Pending until the taint is removed. */
  CriticalComponentsNotReady: { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' },
  /** The taint of nodes whose Failed machines are preserved, with `timeAdded`. */
  Preserved: { key: 'node.machine.sapcloud.io/preserved', effect: 'NoSchedule' },
  /** The taint of nodes of warm machines. */
  Warm: { key: 'warm.machine.sapcloud.io/waits', effect: 'NoSchedule' },
  /**
   * A taint of Kubernetes for a node that is permanently down. Kubernetes may then move the pods and volumes of the
   * node. mcm adds the taint to nodes whose VM was deleted.
   */
  OutOfService: { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
} as const satisfies Record<string, KnownTaint>;
