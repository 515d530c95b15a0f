/** A taint that the controllers write. */
export interface KnownTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Taints that the controllers add to nodes or remove from them. */
export const Taints = {
  /** Taint of the nodes of former MachineSets during a rollout. */
  PreferNoSchedule: {
    key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
    value: 'True',
    effect: 'PreferNoSchedule',
  },
  /**
   * Taint of nodes whose critical components are not ready. Another program adds the taint to new nodes, and to nodes
   * after an in-place update. A machine stays Pending until the taint is removed.
   */
  CriticalComponentsNotReady: { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' },
  /** Taint of the nodes of preserved Failed machines, with `timeAdded`. */
  Preserved: { key: 'node.machine.sapcloud.io/preserved', effect: 'NoSchedule' },
  /** Taint of the nodes of warm machines, until a scale-up uses the machine. */
  Warm: { key: 'warm.machine.sapcloud.io/waits', effect: 'NoSchedule' },
  /**
   * A taint of Kubernetes for a node that is permanently down. Kubernetes may then move the pods and volumes of the
   * node. Nodes whose VM was deleted get this taint.
   */
  OutOfService: { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
} as const satisfies Record<string, KnownTaint>;
