import type { KubeObject } from '@mcm/kube';
import type { Inputs } from './inputs.ts';

const GRACE_SECONDS = 30;
const APP = 'mcm-simulation';

/**
 * Returns pods with a PodDisruptionBudget, if the files contain no workload. The pods tolerate the taints of the
 * machines, but no other taints: a pod must not return to a cordoned node.
 */
export function workloadsOf({ deployments, others, namespace }: Inputs, podsPerMachine: number): readonly object[] {
  const hasWorkload = others.some(({ kind }: KubeObject) => kind !== 'PodDisruptionBudget');
  const replicas = podsPerMachine * deployments.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
  if (hasWorkload || replicas === 0) return [];
  const taints = deployments.flatMap(({ spec }) => spec.template.spec.nodeTemplate?.spec?.taints ?? []);
  const keys = new Set(taints.map(({ key }) => key));
  const labels = { app: APP };
  const metadata = { name: APP, namespace };
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata,
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [{ name: 'main', image: 'pause' }],
            terminationGracePeriodSeconds: GRACE_SECONDS,
            tolerations: [...keys].map((key) => ({ key, operator: 'Exists' })),
          },
        },
      },
    },
  ];
}
