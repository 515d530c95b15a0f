import { machineClasses } from '@mcm/api';
import { type KubeClient, secrets } from '@mcm/kube';
import { NAMESPACE } from '../harness/stack.ts';

/** Creates a class for the local cloud, with a separate Secret. */
export async function makeLocalClass(
  client: KubeClient,
  credentials: { readonly endpoint: string; readonly token: string },
  name = 'local',
): Promise<void> {
  const metadata = { name, namespace: NAMESPACE };
  const data = Object.entries({ ...credentials, userData: 'none' });
  await client.resource(secrets, NAMESPACE).create({
    metadata,
    data: Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  });
  const shape = { instanceType: 'small', zone: 'local-a' };
  await client.resource(machineClasses, NAMESPACE).create({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata,
    provider: 'local',
    secretRef: metadata,
    nodeTemplate: { ...shape, capacity: { cpu: '2', gpu: '0', memory: '4Gi' }, region: 'local' },
    providerSpec: {
      ...shape,
      image: 'hollow:v1',
      tags: { 'kubernetes.io/cluster/bench': '1', 'kubernetes.io/role/node': '1' },
    },
  });
}
