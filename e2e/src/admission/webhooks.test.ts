import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import {
  type Draft,
  mutatingWebhookConfigurations,
  realClock,
  sleep,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '@mcm/kube';
import { sharedResolver } from '@mcm/tools/bundles';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../harness/mcm.ts';
import { NAMESPACE, startStack } from '../harness/stack.ts';

/** Tests the webhooks of the real manager. */

const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 100;

/**
 * Returns a free port for the webhook server. The webhook configurations must contain the port, so the flag cannot be
 * 0.
 */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0));
    });
  });

const configurations = (port: number): WebhookConfiguration[] =>
  parseAllDocuments(readFileSync(join(ROOT, 'deploy', 'kustomize', 'base', 'webhooks.yaml'), 'utf8'))
    .map((document) => document.toJS())
    .filter(({ webhooks }) => webhooks !== undefined)
    .map(({ webhooks, ...rest }) => {
      const called = webhooks.map((hook: { clientConfig: { service: { path: string } } }) => ({
        ...hook,
        failurePolicy: 'Fail',
        clientConfig: { url: `https://127.0.0.1:${port}${hook.clientConfig.service.path}` },
      }));
      return { ...rest, webhooks: called };
    });

const pool = (name: string, strategy: unknown, annotations: Record<string, string> = {}): Draft<MachineDeployment> =>
  ({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineDeployment',
    metadata: { name, namespace: NAMESPACE, annotations },
    spec: {
      replicas: 0,
      selector: { matchLabels: { name } },
      strategy,
      template: { metadata: { labels: { name } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  }) as Draft<MachineDeployment>;

test('the API server trusts self-signed certificates, refuses bad manifests, and sets defaults in good manifests', {
  timeout: PATIENCE_MS,
}, async () => {
  const port = await freePort();
  const stack = await startStack({
    resolve: await sharedResolver(),
    managerFlags: [
      ...[`--webhook-port=${port}`, '--webhook-names=127.0.0.1'],
      ...[`--webhook-configurations=machine-controller-manager.${NAMESPACE}`],
    ],
  });
  try {
    for (const one of configurations(port)) {
      const kind =
        one.kind === 'MutatingWebhookConfiguration' ? mutatingWebhookConfigurations : validatingWebhookConfigurations;
      await stack.client.resource<WebhookConfiguration>(kind).create(one);
    }
    const deployments = stack.client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
    const create = (draft: Draft<MachineDeployment>) => deployments.create(draft).catch((error: unknown) => error);
    // While the manager does not run, its webhook does not respond.
    expect(await create(pool('early', { type: 'Recreate' }))).toMatchObject({ code: 500 });

    await stack.manager.start();
    const trusted = async (): Promise<boolean> => {
      const kinds = [mutatingWebhookConfigurations, validatingWebhookConfigurations];
      const lists = await Promise.all(kinds.map((kind) => stack.client.resource<WebhookConfiguration>(kind).list()));
      return lists.every(({ items }) =>
        items.every(({ webhooks }) => webhooks?.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== '')),
      );
    };
    const end = Date.now() + PATIENCE_MS / 2;
    while (!(await trusted()) && Date.now() < end) await sleep(realClock, LOOK_EVERY_MS);
    expect(await trusted()).toBe(true);

    // The CRDs accept an invalid annotation for scale-in.
    const scaleIn = { [Annotations.ScaleIn]: 'rubbish' };
    const refused = await create(pool('bad', { type: 'Recreate' }, scaleIn));
    expect(refused).toMatchObject({ code: 422 });
    expect(String(refused)).toContain('denied the request');
    const surge = await create(
      pool('wide', { type: 'RollingUpdate', rollingUpdate: { maxSurge: '150%', maxUnavailable: 0 } }),
    );
    expect(String(surge)).toContain('spec.strategy.rollingUpdate.maxSurge');
    expect(surge).toMatchObject({ code: 422 });

    // A CRD default cannot add the `rollingUpdate` block, so the mutating webhook adds the block.
    const good = (await create(pool('good', { type: 'RollingUpdate' }))) as MachineDeployment;
    expect(good.spec.strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
    expect((await deployments.list()).items.map(({ metadata }) => metadata.name)).toEqual(['good']);
    expect(stack.refused()).toEqual([]);
  } finally {
    await stack.stop();
  }
});
