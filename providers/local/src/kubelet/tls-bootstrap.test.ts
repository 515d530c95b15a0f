import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  nodes,
  type Pod,
  pods,
  realClock,
  secrets,
  seededRandom,
  silentLogger,
  undiciTransport,
} from '@mcm/kube';
import { expect, test } from 'vitest';
import { createLocalCloud } from '../cloud/local-cloud.ts';

test('a kubelet joins over TLS with its bootstrap token, and then has the identity of its node', async () => {
  const users = new Set<string>();
  const plane = await startControlPlane({
    port: 0,
    requestLog: ({ userAgent, verb, resource, code }) => {
      if (userAgent.startsWith('kubelet/')) users.add(`${verb} ${resource} ${code}`);
    },
  });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  const token = { id: 'abcdef', secret: '0123456789abcdef' };
  await client.resource(secrets, 'kube-system').create({
    metadata: { name: `bootstrap-token-${token.id}` },
    type: 'bootstrap.kubernetes.io/token',
    stringData: { 'token-id': token.id, 'token-secret': token.secret, 'usage-bootstrap-authentication': 'true' },
  });
  const cloud = createLocalCloud({
    clock: realClock,
    random: seededRandom(3),
    log: silentLogger,
    kubelets: { connect: (address) => undiciTransport({ ...address, connections: 1 }) },
  });
  try {
    const userData = JSON.stringify({
      server: plane.url,
      certificateAuthorityData: Buffer.from(plane.caCertificate ?? '').toString('base64'),
      bootstrapToken: `${token.id}.${token.secret}`,
    });
    const body = JSON.stringify({ name: 'n-1', image: 'linux', userData });
    await cloud.fetch(new Request('http://cloud/v1/instances', { method: 'POST', body }));
    await client.resource(pods, 'default').create({
      metadata: { name: 'web' },
      spec: { nodeName: 'n-1', containers: [{ name: 'main', image: 'app:1' }] },
    });
    // When the Node exists, the kubelet needs no token.
    for await (const event of client.resource(nodes).watch({ resourceVersion: '0' }))
      if (event.type !== 'BOOKMARK' && event.object.metadata.name === 'n-1') break;
    await client.resource(secrets, 'kube-system').delete(`bootstrap-token-${token.id}`);
    const running = await firstRunning(client.resource(pods, 'default').watch({ resourceVersion: '0' }));
    expect(running.metadata.name).toBe('web');
    expect(users).toContain('create certificatesigningrequests 201');
    expect([...users].filter((call) => /[45]\d\d$/.test(call))).toEqual([]);
  } finally {
    await cloud.close();
    await plane.close();
  }
});

async function firstRunning(events: AsyncIterable<{ readonly type: string; readonly object: unknown }>): Promise<Pod> {
  for await (const { type, object } of events) {
    const pod = object as Pod;
    if (type !== 'BOOKMARK' && pod.status?.phase === 'Running') return pod;
  }
  throw new Error('the watch of pods ended early');
}
