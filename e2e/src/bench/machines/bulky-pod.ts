import type { Draft, Pod } from '@mcm/kube';
import { NAMESPACE } from '../../harness/stack.ts';

export const POD_BYTES = 7_000;

/** Returns a large pod on a node without a kubelet. */
export function bulkyPod(index: number, nodeName: string): Draft<Pod> {
  const env = Array.from({ length: 40 }, (_, i) => ({
    name: `VARIABLE_NUMBER_${i}`,
    value: `value of variable ${i} of pod ${index} `.repeat(3),
  }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `bulk-${index}`, namespace: NAMESPACE, labels: { app: `bulk-${index % 100}` } },
    spec: {
      nodeName,
      containers: [{ name: 'main', image: 'registry.example/app:1', env }],
    },
  };
}
