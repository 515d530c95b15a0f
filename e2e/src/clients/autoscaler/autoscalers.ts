import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority } from '@mcm/control-plane';
import { realClock } from '@mcm/kube';
import { issueCertificate } from '../../harness/certificates.ts';
import { freePort } from '../../harness/free-port.ts';
import { NAMESPACE } from '../../harness/stack.ts';
import type { Autoscaler } from './start-autoscaler.ts';

function writeConfig(folder: string, port: number): string {
  const authority = createAuthority(realClock.now());
  const [server, client] = [issueCertificate(authority, 'serverAuth'), issueCertificate(authority, 'clientAuth')];
  const files = {
    'tls.crt': server.cert,
    'tls.key': server.key,
    'ca.crt': authority.certificate,
    'client.crt': client.cert,
    'client.key': client.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const config = join(folder, 'cloud.yaml');
  const path = (name: keyof typeof files): string => JSON.stringify(join(folder, name));
  writeFileSync(
    config,
    `address: localhost:${port}\ncert: ${path('client.crt')}\nkey: ${path('client.key')}\ncacert: ${path('ca.crt')}\n`,
  );
  return config;
}

export const UPSTREAM: Autoscaler = {
  path: join('cluster-autoscaler', 'cluster-autoscaler'),
  decision: 'taint',
  async connect(folder) {
    const port = await freePort();
    const config = writeConfig(folder, port);
    return {
      managerFlags: [`--autoscaler-port=${port}`, `--autoscaler-cert-dir=${folder}`],
      flags: ['--cloud-provider=externalgrpc', '--node-delete-delay-after-taint=0s', `--cloud-config=${config}`],
      env: () => ({}),
    };
  },
};

/** @param group The limits and the name of the node group. The flag has the form `MIN:MAX:NAME`. */
export const gardenerFork = (group: { min: number; max: number; name: string }): Autoscaler => ({
  path: join('gardener-autoscaler', 'cluster-autoscaler'),
  decision: 'replicas',
  connect: () =>
    Promise.resolve({
      managerFlags: [],
      flags: [
        '--cloud-provider=mcm',
        '--scale-down-delay-after-failure=1s',
        `--nodes=${group.min}:${group.max}:${NAMESPACE}.${group.name}`,
      ],
      env: ({ kubeconfig }) => ({
        CONTROL_NAMESPACE: NAMESPACE,
        CONTROL_KUBECONFIG: kubeconfig,
        TARGET_KUBECONFIG: kubeconfig,
      }),
    }),
});
