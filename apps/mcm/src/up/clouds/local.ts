import { randomBytes } from 'node:crypto';
import { keptSecret } from './kept-secret.ts';
import type { ProviderFor } from './provider.ts';

/**
 * Runs the cloud of the local provider on a free port. At each start, the current address of the cloud is written to
 * the Secret.
 */
export const localProvider: ProviderFor = (data) => {
  const token = keptSecret(data, 'cloud-token', () => randomBytes(24).toString('base64url'));
  return {
    name: 'local',
    cloud: {
      name: 'local-cloud',
      module: '@mcm/provider-local/cloud/main',
      args: ['--port=0', `--data-dir=${data.file('cloud')}`],
      // Other users can read the flags of a process, so the token is in its environment.
      env: { MCM_LOCAL_CLOUD_TOKEN: token },
    },
    machineController: () => ({
      name: 'machine-controller-local',
      module: '@mcm/provider-local/main',
      args: ['--interruptions'],
      env: {},
    }),
    credentials: ({ address }) => ({ endpoint: address, token }),
    nodeIsMachine: true,
    machineClass: {
      name: 'local-small',
      secret: 'local-credentials',
      provider: 'local',
      nodeTemplate: {
        capacity: { cpu: '2', gpu: '0', memory: '4Gi' },
        instanceType: 'small',
        region: 'local',
        zone: 'local-a',
      },
      providerSpec: {
        image: 'hollow:v1',
        instanceType: 'small',
        zone: 'local-a',
        tags: { 'kubernetes.io/cluster/mcm': '1', 'kubernetes.io/role/node': '1' },
      },
    },
  };
};
