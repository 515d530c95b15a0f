/** A taint that the controllers write. */
export interface KnownTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Taints that the controllers add to nodes or remove from them. */
export const Taints = {
  /** On the nodes of former MachineSets during a rollout. */
  PreferNoSchedule: {
    key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
    value: 'True',
    effect: 'PreferNoSchedule',
  },
  /**
   * On new nodes, where another program adds it, and on nodes after an in-place update. A Pending machine waits until the
   * taint is removed.
   */
  CriticalComponentsNotReady: { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' },
  /** On nodes of preserved Failed machines, with `timeAdded`. */
  Preserved: { key: 'node.machine.sapcloud.io/preserved', effect: 'NoSchedule' },
  /** On nodes of warm machines, until a scale-up uses the machine. */
  Warm: { key: 'warm.machine.sapcloud.io/waits', effect: 'NoSchedule' },
  /**
   * A taint of Kubernetes: the node is permanently down, so its pods and volumes may be moved. On nodes whose VM was
   * deleted.
   */
  OutOfService: { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
} as const satisfies Record<string, KnownTaint>;
