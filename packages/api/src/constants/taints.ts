/** A taint as the controllers write it. */
export interface KnownTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Taints that controllers put on nodes or take off. */
export const Taints = {
  /** On nodes of earlier MachineSets during a rollout. */
  PreferNoSchedule: {
    key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
    value: 'True',
    effect: 'PreferNoSchedule',
  },
  /** On new nodes (put there from outside) and after an in-place update; a Pending machine waits until it is gone. */
  CriticalComponentsNotReady: { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' },
  /** On nodes of preserved Failed machines, with `timeAdded`. */
  Preserved: { key: 'node.machine.sapcloud.io/preserved', effect: 'NoSchedule' },
  /** Kubernetes' own: the node is down permanently, its pods and volumes may be taken from it. On nodes whose VM is gone. */
  OutOfService: { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
} as const satisfies Record<string, KnownTaint>;
